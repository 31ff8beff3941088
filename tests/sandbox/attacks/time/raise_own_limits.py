# expect: timeout
# limits: spin
import resource

for which in (resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):
    soft, hard = resource.getrlimit(which)
    for more in ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), (hard + 1, hard + 1)):
        try:
            resource.setrlimit(which, more)
            if hard != resource.RLIM_INFINITY:
                print("ESCAPE raised limit", which, hard, "to", more, flush=True)
        except (OSError, ValueError, OverflowError):
            continue


def add(a, b):
    while True:
        pass
