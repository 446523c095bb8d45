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
	// compactedAfter is the maximum age of revisions in etcd with kube-apiserver's default compaction interval. A snapshot
	// that is older cannot be verified.
	compactedAfter = 10 * time.Minute
)

// snapshots checks whether snapshots can be written, and which of the existing ones would be used. It creates nothing.
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
			i.note("snapshot "+file.Name, fmt.Sprintf("would not be used; its resource would be listed: %v", err))
		}
	}
	return true
}

// spaceOf returns the total size of files, and the free space that their replacements need, in bytes. Files are
// replaced one by one, and the new one is written before the old one is removed.
func spaceOf(left []snapshot.Found) (all, needs uint64) {
	needs = leastSpace
	for _, file := range left {
		size := uint64(max(file.Size, 0)) //nolint:gosec // not negative
		all, needs = all+size, max(needs, size)
	}
	return all, needs
}

// taken returns why a snapshot would not be used. It looks only at the header.
func (i *inspection) taken(file snapshot.Found, cluster string) error {
	h, age := file.Header, time.Since(file.Header.Taken).Truncate(time.Second)
	switch {
	case file.Err != nil:
		return file.Err
	case h.Cluster != cluster:
		return errors.New("it is of another cluster")
	case !strings.HasPrefix(h.Upstream, i.version+" "):
		return fmt.Errorf("it is of kube-apiserver %s", h.Upstream)
	case age > compactedAfter:
		return fmt.Errorf("it is %v old, and etcd may have compacted that revision", age)
	}
	return nil
}
