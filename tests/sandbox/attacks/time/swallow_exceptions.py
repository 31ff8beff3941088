# expect: timeout
# limits: spin
def stay():
    while True:
        try:
            while True:
                pass
        except BaseException:
            stay()


def add(a, b):
    stay()
