package facade

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/listfacade/listfacade/internal/snapshot"
)

const (
	// leastSpace is the minimum free space for snapshots, in bytes.
	leastSpace = 16 << 20
	// compactedAfter is the maximum age of revisions in etcd with kube-apiserver's default compaction interval. An older
	// snapshot cannot be verified, because the upstream can no longer list its revision.
	compactedAfter = 10 * time.Minute
)

// snapshots checks whether snapshots can be written, and which existing snapshots would be used. It creates no file.
func (i *inspection) snapshots(ctx context.Context) bool {
	dir := i.config.SnapshotDir
	if dir == "" {
		return true
	}
	free, made, err := snapshot.Space(dir)
	var left []snapshot.Found
	if err == nil {
		left, err = snapshot.Left(ctx, dir)
	}
	all, needs := spaceOf(left)
	if err == nil && free < needs {
		err = fmt.Errorf("%d MiB are free in %s, but the largest file needs %d MiB", free>>20, dir, needs>>20)
	}
	if err == nil && !made {
		i.note("snapshots", dir+" does not exist yet; the first snapshot creates it")
	}
	if !i.say("snapshots", err, "%d files of %d MiB in %s, %d MiB are free", len(left), all>>20, dir, free>>20) {
		return true
	}
	cluster, err := i.client.ClusterUID(ctx)
	if err != nil {
		i.say("snapshots", fmt.Errorf("snapshots need the UID of the namespace kube-system: %w", err), "")
		return true
	}
	for _, file := range left {
		if err := i.taken(file, cluster); err != nil {
			i.note("snapshot "+file.Name, fmt.Sprintf("would not be used, so its resource would be listed: %v", err))
		}
	}
	return true
}

// spaceOf returns the total size of files, and the free space that their replacements need, in bytes. Only one
// replacement exists at a time: each new file is written completely before it replaces the old one.
func spaceOf(left []snapshot.Found) (all, needs uint64) {
	needs = leastSpace
	for _, file := range left {
		size := uint64(max(file.Size, 0)) //nolint:gosec // not negative
		all, needs = all+size, max(needs, size)
	}
	return all, needs
}

// taken returns why a snapshot would not be used, or nil if it would be used. It checks only the header.
func (i *inspection) taken(file snapshot.Found, cluster string) error {
	h, age := file.Header, time.Since(file.Header.Taken).Truncate(time.Second)
	switch {
	case file.Err != nil:
		return file.Err
	case h.Cluster != cluster:
		return errors.New("snapshot is of another cluster")
	case !strings.HasPrefix(h.Upstream, i.version+" "):
		return fmt.Errorf("snapshot is of kube-apiserver %s, want %s", h.Upstream, i.version)
	case age > compactedAfter:
		return fmt.Errorf("snapshot is %v old; etcd may have compacted its revision", age)
	}
	return nil
}
