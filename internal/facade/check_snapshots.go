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
	// leastSpace is how many bytes have to be free for snapshots at least.
	leastSpace = 16 << 20
	// compactedAfter is how long kube-apiserver lets etcd keep what was, at most, unless it is told otherwise: a snapshot
	// that is older cannot be proven.
	compactedAfter = 10 * time.Minute
)

// snapshots looks whether snapshots can be left, and which of those that are there would be taken. It makes nothing.
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
		err = fmt.Errorf("%d MiB are free in %s, and the largest file takes %d MiB at least", free>>20, dir, needs>>20)
	}
	if err == nil && !made {
		i.note("snapshots", dir+" is not there yet, and is made by who writes the first")
	}
	if !i.say("snapshots", err, "%d files of %d MiB in %s, %d MiB are free", len(left), all>>20, dir, free>>20) {
		return true
	}
	cluster, err := i.client.ClusterUID(ctx)
	if err != nil {
		i.say("snapshots", fmt.Errorf("none is left or taken without the UID of the namespace kube-system: %w", err), "")
		return true
	}
	for _, file := range left {
		if err := i.taken(file, cluster); err != nil {
			i.note("snapshot "+file.Name, fmt.Sprintf("it would be left aside, and its resource listed: %v", err))
		}
	}
	return true
}

// spaceOf is how many bytes files take together, and how many have to be free for those that take their places: one by
// one, each written beside the old one.
func spaceOf(left []snapshot.Found) (all, needs uint64) {
	needs = leastSpace
	for _, file := range left {
		size := uint64(max(file.Size, 0)) //nolint:gosec // never below 0
		all, needs = all+size, max(needs, size)
	}
	return all, needs
}

// taken tells why a snapshot would not be, as far as its header tells.
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
		return fmt.Errorf("it is %v old, and kube-apiserver has forgotten that", age)
	}
	return nil
}
