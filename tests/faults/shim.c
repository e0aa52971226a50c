/* Preloaded into a process (LD_PRELOAD): lets the n-th call on a file below a folder fail, or records each change of
 * such a file, with its bytes, in a log. tests/faults/shim.py compiles it and says what the log looks like. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(result, name, ...)                                                  \
    static result (*real)(__VA_ARGS__);                                          \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, name)

static const char *root;      /* only files below this folder are looked at */
static const char *log_path;  /* where changes are recorded, if anywhere */
static struct {                /* of this process and its children */
    long fails_at;            /* the number of the call that fails; 0: none */
    int fails_with;           /* its errno */
    long calls;               /* calls on files below the folder since `faults_arm` */
    char fired[PATH_MAX + 64];
} *plan;
static int log_file = -1;
static pid_t log_owner;
static pthread_mutex_t in_turn = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void start(void) {
    const char *folder = getenv("FAULTS_ROOT"), *log = getenv("FAULTS_LOG");
    root = folder ? strdup(folder) : 0;
    log_path = log ? strdup(log) : 0;
    plan = mmap(0, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* Let the call number *number* from now on fail with *error*. */
void faults_arm(long number, int error) {
    plan->calls = 0;
    plan->fired[0] = 0;
    plan->fails_with = error;
    plan->fails_at = number;
}

/* Let none fail from now on; the number of calls since `faults_arm`. */
long faults_disarm(void) {
    plan->fails_at = 0;
    return plan->calls;
}

/* The call that failed, "" if none did. */
const char *faults_fired(void) { return plan->fired; }

static int is_below(const char *path) {
    size_t length = root ? strlen(root) : 0;
    return length && !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}

/* The absolute path of *name* in the folder *folder*; its last part may be missing, or a link that is not followed. */
static const char *absolute(int folder, const char *name, char *path) {
    char given[PATH_MAX], parent[PATH_MAX];
    if (name[0] == '/') {
        snprintf(given, sizeof given, "%s", name);
    } else {
        char at[64], base[PATH_MAX];
        if (folder == AT_FDCWD) {
            if (!getcwd(base, sizeof base)) return "";
        } else {
            snprintf(at, sizeof at, "/proc/self/fd/%d", folder);
            ssize_t length = readlink(at, base, sizeof base - 1);
            if (length < 0) return "";
            base[length] = 0;
        }
        if (snprintf(given, sizeof given, "%s/%s", base, name) >= (int)sizeof given) return "";
    }
    char *last = strrchr(given, '/');
    if (!last || !last[1]) return given[0] && realpath(given, path) ? path : "";
    *last = 0;
    if (!realpath(given[0] ? given : "/", parent)) return "";
    if (snprintf(path, PATH_MAX, "%s/%s", parent, last + 1) >= PATH_MAX) return "";
    return path;
}

static const char *path_of(int file, char *path) {
    char at[64];
    snprintf(at, sizeof at, "/proc/self/fd/%d", file);
    ssize_t length = readlink(at, path, PATH_MAX - 1);
    if (length < 0) return "";
    path[length] = 0;
    return path;
}

/* Whether this call is the one that fails; errno is set then. */
static int fails(const char *name, const char *path) {
    if (!plan || !plan->fails_at || !is_below(path)) return 0;
    if (__sync_add_and_fetch(&plan->calls, 1) != plan->fails_at) return 0;
    snprintf(plan->fired, sizeof plan->fired, "%s %s", name, path);
    errno = plan->fails_with;
    return 1;
}

static int records(const char *path) { return log_path && is_below(path); }

/* One change at a time, over all processes: so the log has them in the order in which they happened. */
static void begin(void) {
    pthread_mutex_lock(&in_turn);
    if (log_owner != getpid()) {
        REAL(int, "open64", const char *, int, ...);
        log_file = real(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        log_owner = getpid();
    }
    flock(log_file, LOCK_EX);
}

static void end(void) {
    int before = errno;
    flock(log_file, LOCK_UN);
    pthread_mutex_unlock(&in_turn);
    errno = before;
}

static void note(char kind, const char *path, const char *other, int64_t offset, const void *data, uint64_t size) {
    int before = errno;
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    struct __attribute__((packed)) {
        char kind;
        uint32_t path, other;
        int64_t offset;
        uint64_t size;
    } head = {kind, (uint32_t)strlen(path), (uint32_t)strlen(other), offset, size};
    struct iovec parts[] = {
        {&head, sizeof head}, {(void *)path, head.path}, {(void *)other, head.other}, {(void *)data, size}};
    if (real(log_file, parts, 4) != (ssize_t)(sizeof head + head.path + head.other + size)) abort();
    errno = before;
}

/* Keep the words *text* in the log: what a program was told, and when. */
void faults_note(const char *text) {
    if (!log_path) return;
    begin();
    note('!', text, "", 0, "", 0);
    end();
}

static int open_at(const char *function, int folder, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    const char *full = absolute(folder, name, path);
    REAL(int, "openat64", int, const char *, int, ...);
    if (fails(function, full)) return -1;
    if (!records(full) || !(flags & (O_CREAT | O_TRUNC))) return real(folder, name, flags, mode);
    begin();
    struct stat now;
    int was_there = !lstat(full, &now);
    int file = real(folder, name, flags, mode);
    if (file >= 0 && !was_there) {
        note('c', full, "", mode, "", 0);
    } else if (file >= 0 && flags & O_TRUNC) {
        char real_path[PATH_MAX];
        note('t', path_of(file, real_path), "", 0, "", 0);
    }
    end();
    return file;
}

#define MODE(flags)                                        \
    mode_t mode = 0;                                       \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                 \
        va_list arguments;                                 \
        va_start(arguments, flags);                        \
        mode = va_arg(arguments, mode_t);                  \
        va_end(arguments);                                 \
    }

int open(const char *name, int flags, ...) { MODE(flags) return open_at("open", AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE(flags) return open_at("open", AT_FDCWD, name, flags, mode); }
int openat(int folder, const char *name, int flags, ...) { MODE(flags) return open_at("open", folder, name, flags, mode); }
int openat64(int folder, const char *name, int flags, ...) { MODE(flags) return open_at("open", folder, name, flags, mode); }
int __open_2(const char *name, int flags) { return open_at("open", AT_FDCWD, name, flags, 0); }
int __open64_2(const char *name, int flags) { return open_at("open", AT_FDCWD, name, flags, 0); }

/* Where a write at the file's own place goes. */
static int64_t place_of(int file) {
    struct stat now;
    if (fcntl(file, F_GETFL) & O_APPEND) return fstat(file, &now) ? 0 : now.st_size;
    return lseek(file, 0, SEEK_CUR);
}

ssize_t write(int file, const void *data, size_t size) {
    char path[PATH_MAX];
    REAL(ssize_t, "write", int, const void *, size_t);
    if (!root) return real(file, data, size);
    path_of(file, path);
    if (fails("write", path)) return -1;
    if (!records(path)) return real(file, data, size);
    begin();
    int64_t place = place_of(file);
    ssize_t written = real(file, data, size);
    if (written > 0) note('w', path, "", place, data, written);
    end();
    return written;
}

static ssize_t write_at(int file, const void *data, size_t size, off64_t place) {
    char path[PATH_MAX];
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
    if (!root) return real(file, data, size, place);
    path_of(file, path);
    if (fails("pwrite", path)) return -1;
    if (!records(path)) return real(file, data, size, place);
    begin();
    ssize_t written = real(file, data, size, place);
    if (written > 0) note('w', path, "", place, data, written);
    end();
    return written;
}

ssize_t pwrite(int file, const void *data, size_t size, off_t place) { return write_at(file, data, size, place); }
ssize_t pwrite64(int file, const void *data, size_t size, off64_t place) { return write_at(file, data, size, place); }

/* Copies within the kernel, of which no bytes are seen here: the caller writes them itself then. */
ssize_t sendfile(int to, int from, off_t *place, size_t size) { errno = EINVAL; return -1; }
ssize_t sendfile64(int to, int from, off64_t *place, size_t size) { errno = EINVAL; return -1; }
ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *place, size_t size, unsigned flags) { errno = EXDEV; return -1; }
int posix_fallocate(int file, off_t place, off_t size) { return EINVAL; }
int posix_fallocate64(int file, off64_t place, off64_t size) { return EINVAL; }

static int truncate_file(int file, off64_t size) {
    char path[PATH_MAX];
    REAL(int, "ftruncate64", int, off64_t);
    path_of(file, path);
    if (fails("ftruncate", path)) return -1;
    if (!records(path)) return real(file, size);
    begin();
    int result = real(file, size);
    if (!result) note('t', path, "", size, "", 0);
    end();
    return result;
}

int ftruncate(int file, off_t size) { return truncate_file(file, size); }
int ftruncate64(int file, off64_t size) { return truncate_file(file, size); }

int truncate(const char *name, off_t size) {
    char path[PATH_MAX];
    REAL(int, "truncate64", const char *, off64_t);
    const char *full = absolute(AT_FDCWD, name, path);
    if (fails("truncate", full)) return -1;
    if (!records(full)) return real(name, size);
    begin();
    int result = real(name, size);
    if (!result) note('t', full, "", size, "", 0);
    end();
    return result;
}

static int sync_file(const char *function, int file) {
    static int (*real_fsync)(int), (*real_fdatasync)(int);
    char path[PATH_MAX];
    if (!real_fsync) *(void **)&real_fsync = dlsym(RTLD_NEXT, "fsync");
    if (!real_fdatasync) *(void **)&real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    path_of(file, path);
    if (fails(function, path)) return -1;
    if (root && is_below(path)) {  /* whether the disk has it is played, so nobody waits for it */
        if (!records(path)) return 0;
        begin();
        note('s', path, "", 0, "", 0);
        end();
        return 0;
    }
    return function[1] == 's' ? real_fsync(file) : real_fdatasync(file);
}

int fsync(int file) { return sync_file("fsync", file); }
int fdatasync(int file) { return sync_file("fdatasync", file); }

static int rename_at(int from_folder, const char *from, int to_folder, const char *to) {
    char from_path[PATH_MAX], to_path[PATH_MAX];
    REAL(int, "renameat", int, const char *, int, const char *);
    const char *old = absolute(from_folder, from, from_path), *new = absolute(to_folder, to, to_path);
    if (fails("rename", new)) return -1;
    if (!records(old) && !records(new)) return real(from_folder, from, to_folder, to);
    begin();
    int result = real(from_folder, from, to_folder, to);
    if (!result) note('r', old, new, 0, "", 0);
    end();
    return result;
}

int rename(const char *from, const char *to) { return rename_at(AT_FDCWD, from, AT_FDCWD, to); }
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    return rename_at(from_folder, from, to_folder, to);
}

static int link_at(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    char from_path[PATH_MAX], to_path[PATH_MAX];
    REAL(int, "linkat", int, const char *, int, const char *, int);
    const char *old = absolute(from_folder, from, from_path), *new = absolute(to_folder, to, to_path);
    if (fails("link", new)) return -1;
    if (!records(new)) return real(from_folder, from, to_folder, to, flags);
    begin();
    int result = real(from_folder, from, to_folder, to, flags);
    if (!result) note('l', old, new, 0, "", 0);
    end();
    return result;
}

int link(const char *from, const char *to) { return link_at(AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    return link_at(from_folder, from, to_folder, to, flags);
}

static int unlink_at(int folder, const char *name, int flags) {
    char path[PATH_MAX];
    REAL(int, "unlinkat", int, const char *, int);
    const char *full = absolute(folder, name, path);
    if (fails(flags & AT_REMOVEDIR ? "rmdir" : "unlink", full)) return -1;
    if (!records(full)) return real(folder, name, flags);
    begin();
    int result = real(folder, name, flags);
    if (!result) note(flags & AT_REMOVEDIR ? 'x' : 'u', full, "", 0, "", 0);
    end();
    return result;
}

int unlink(const char *name) { return unlink_at(AT_FDCWD, name, 0); }
int unlinkat(int folder, const char *name, int flags) { return unlink_at(folder, name, flags); }
int rmdir(const char *name) { return unlink_at(AT_FDCWD, name, AT_REMOVEDIR); }

static int mkdir_at(int folder, const char *name, mode_t mode) {
    char path[PATH_MAX];
    REAL(int, "mkdirat", int, const char *, mode_t);
    const char *full = absolute(folder, name, path);
    if (fails("mkdir", full)) return -1;
    if (!records(full)) return real(folder, name, mode);
    begin();
    int result = real(folder, name, mode);
    if (!result) note('d', full, "", mode, "", 0);
    end();
    return result;
}

int mkdir(const char *name, mode_t mode) { return mkdir_at(AT_FDCWD, name, mode); }
int mkdirat(int folder, const char *name, mode_t mode) { return mkdir_at(folder, name, mode); }
