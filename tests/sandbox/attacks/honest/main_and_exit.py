# mode: stdio
# expect: pass
import sys


def main():
    a, b = map(int, input().split())
    print(a + b)
    sys.exit(0)


if __name__ == "__main__":
    main()
