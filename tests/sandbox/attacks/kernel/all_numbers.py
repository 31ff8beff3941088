# expect: pass
# needs: x86_64
# note: every number that is not known to be allowed must answer EPERM or ENOSYS, for arguments that do nothing
import ctypes

ALLOWED_TO_ANSWER = set(range(0, 41)) | {
    *(335, 336),  # uretprobe, uprobe: the kernel lets them past every filter, and ends who was not sent there
    *(
        44,
        45,
        48,
        51,
        52,
        53,
        55,
        56,
        60,
        61,
        62,
        63,
        72,
        73,
        74,
        75,
        76,
        77,
        78,
        79,
        80,
        81,
        82,
        83,
        84,
        85,
        86,
        87,
        88,
    ),
    *(
        89,
        90,
        91,
        95,
        96,
        97,
        98,
        99,
        100,
        102,
        104,
        107,
        108,
        110,
        111,
        115,
        118,
        120,
        121,
        124,
        125,
        127,
        128,
        130,
        131,
    ),
    *(
        132,
        137,
        138,
        140,
        143,
        145,
        146,
        147,
        157,
        160,
        186,
        191,
        192,
        193,
        194,
        195,
        196,
        201,
        202,
        204,
        213,
        217,
        218,
    ),
    *(
        219,
        221,
        228,
        229,
        230,
        231,
        232,
        233,
        234,
        235,
        247,
        257,
        258,
        261,
        262,
        263,
        264,
        265,
        266,
        267,
        268,
        269,
        270,
    ),
    *(
        271,
        273,
        280,
        281,
        285,
        290,
        291,
        292,
        293,
        295,
        296,
        302,
        309,
        316,
        318,
        324,
        327,
        328,
        332,
        334,
        436,
        439,
        441,
    ),
    452,
}


def add(a, b):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    for number in range(700):
        if number in ALLOWED_TO_ANSWER:
            continue
        for base in (0, 1 << 30):
            ctypes.set_errno(0)
            got = libc.syscall(ctypes.c_long(base + number), *[ctypes.c_long(-1)] * 6)
            if got >= 0 or ctypes.get_errno() not in (1, 38):
                print("ESCAPE call", base + number, got, ctypes.get_errno(), flush=True)
    for number in sorted(ALLOWED_TO_ANSWER):
        ctypes.set_errno(0)
        got = libc.syscall(ctypes.c_long((1 << 30) + number), *[ctypes.c_long(-1)] * 6)
        if got >= 0 or ctypes.get_errno() not in (1, 38):
            print("ESCAPE x32 call", number, got, ctypes.get_errno(), flush=True)
    return a + b
