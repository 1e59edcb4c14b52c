/* As much of an NVML library as the loop program needs; a call answers 0 only when it got the arguments that its test writes. */
#include <stdint.h>
#include <string.h>

#define HANDLE ((uintptr_t)0x4e10)

int nvmlInit_v2(void);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, uintptr_t *device);
int nvmlDeviceGetSix(uintptr_t device, unsigned int number, const unsigned char *bytes, unsigned int *count, unsigned int hex, const char *zeros);
int nvmlDeviceGetCalls(uintptr_t device, unsigned int *calls);
int nvmlDeviceGetRefused(uintptr_t device);

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, uintptr_t *device)
{
    *device = HANDLE;
    return index == 0 ? 0 : 2;
}

/* device 7 mem:8:0102ff count:64 0x10 mem:4: */
int nvmlDeviceGetSix(uintptr_t device, unsigned int number, const unsigned char *bytes, unsigned int *count, unsigned int hex, const char *zeros)
{
    static const unsigned char wanted[8] = {1, 2, 255};
    const int right = device == HANDLE && number == 7 && memcmp(bytes, wanted, sizeof wanted) == 0 && *count == 64 && hex == 16 &&
                      memcmp(zeros, "\0\0\0", 4) == 0;
    *count = 3;
    return right ? 0 : 2;
}

/* Answers how often it was called with this memory, which only the first call finds zero. */
int nvmlDeviceGetCalls(uintptr_t device, unsigned int *calls)
{
    (void)device;
    return (int)++*calls;
}

int nvmlDeviceGetRefused(uintptr_t device)
{
    (void)device;
    return 3;
}
