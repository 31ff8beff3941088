# expect: timeout
# limits: spin
# note: against limits that are an alarm in the program's own process
import signal


def quiet(number, frame):
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.alarm(0)


for number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGVTALRM, signal.SIGPROF, signal.SIGTERM, signal.SIGINT):
    signal.signal(number, quiet)


def add(a, b):
    while True:
        signal.alarm(0)
