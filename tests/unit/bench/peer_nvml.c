/* A peer as peers are: talks on stderr, wants a variable of its own, lacks a function, crashes in another. */
#include <stdio.h>
#include <stdlib.h>

int nvmlInit_v2(void);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device);
int nvmlDeviceGetAnswered(void *device);
int nvmlDeviceGetCrash(void *device);

int nvmlInit_v2(void)
{
    fputs("peer: loading\n", stderr);
    return getenv("PEER_CONFIG") == NULL || getenv("NVPARITY_IMAGE") != NULL ? 9 : 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device)
{
    *device = device;
    return index == 0 ? 0 : 2;
}

int nvmlDeviceGetAnswered(void *device)
{
    return device == NULL ? 2 : 3;
}

int nvmlDeviceGetCrash(void *device)
{
    (void)device;
    abort();
}
