/* Keeps what has been synced, and only that: loaded before a program (LD_PRELOAD), it copies each
   file of the folder $SYNCED_FROM to $SYNCED_TO whenever the program syncs it. A machine that loses
   its power has the second folder left. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void copy(const char *from, const char *to) {
    char part[PATH_MAX], block[65536];
    snprintf(part, sizeof part, "%s.part", to);
    int in = open(from, O_RDONLY), out = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ssize_t got;
    while ((got = read(in, block, sizeof block)) > 0)
        if (write(out, block, got) != got) abort();
    close(in);
    close(out);
    if (rename(part, to)) abort();
}

/* A synced folder: files that were removed from it will not come back. */
static void forget_removed(const char *from, const char *to) {
    DIR *folder = opendir(to);
    struct dirent *entry;
    char here[PATH_MAX], there[PATH_MAX];
    while (folder && (entry = readdir(folder))) {
        snprintf(here, sizeof here, "%s/%s", from, entry->d_name);
        snprintf(there, sizeof there, "%s/%s", to, entry->d_name);
        if (entry->d_name[0] != '.' && access(here, F_OK)) unlink(there);
    }
    if (folder) closedir(folder);
}

static void keep(int file) {
    const char *from = getenv("SYNCED_FROM"), *to = getenv("SYNCED_TO");
    char link[64], path[PATH_MAX], kept[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (!from || !to || length < 0) return;
    path[length] = 0;
    pthread_mutex_lock(&one_at_a_time);
    size_t common = strlen(from);
    if (!strcmp(path, from)) {
        forget_removed(from, to);
    } else if (!strncmp(path, from, common) && path[common] == '/') {
        snprintf(kept, sizeof kept, "%s/%s", to, path + common + 1);
        copy(path, kept);
    }
    pthread_mutex_unlock(&one_at_a_time);
}

int fsync(int file) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fsync"), failed = real(file);
    if (!failed) keep(file);
    return failed;
}

int fdatasync(int file) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync"), failed = real(file);
    if (!failed) keep(file);
    return failed;
}
