package reflector

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"
	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/listfacade/listfacade/internal/upstream"
)

// versionAge is the maximum age of the upstream's version and cluster UID unless the current values are required. It
// applies, for example, after a watch that ended at its timeout. Lanes whose watches end at about the same time share
// one request.
const versionAge = 10 * time.Second

func newVersions(client *upstream.Client) *identity {
	return newIdentity(func(ctx context.Context) string { return versionOf(ctx, client) })
}

func versionOf(ctx context.Context, client *upstream.Client) string {
	text, err := client.ServerVersion(ctx)
	// A kube-apiserver can emulate an older version, including its representation of objects (KEP-4330).
	var version struct{ GitVersion, EmulationMajor, EmulationMinor string }
	if err != nil || json.Unmarshal(text, &version) != nil || version.GitVersion == "" {
		return ""
	}
	return fmt.Sprintf("%s as %s.%s", version.GitVersion, version.EmulationMajor, version.EmulationMinor)
}

// snapshotsSince is the first version of kube-apiserver that serves pages of a list, and lists at an exact version,
// from memory. Earlier versions read each page from etcd and decode it.
var snapshotsSince = utilversion.MustParseGeneric("1.34")

func hasSnapshots(version string) bool {
	git, emulated, _ := strings.Cut(version, " as ")
	for _, text := range []string{emulated, git} {
		if v, err := utilversion.ParseGeneric(text); err == nil {
			return v.AtLeast(snapshotsSince)
		}
	}
	return false
}

// upstreamCheck compares the upstream's version and cluster with those at the time of the lane's list.
type upstreamCheck struct {
	versions, clusters *identity
	log                *zap.Logger

	version  string // version of the upstream during this epoch's list; empty if it is uncertain
	replaced replacement
	cluster  string // UID of the upstream's cluster, as last read; empty before the first successful read
	doubted  bool   // whether a watch broke off since the cluster was last confirmed
}

// recentVersion returns the upstream's version, read within versionAge. It is empty if the version is unknown.
func (c *upstreamCheck) recentVersion(ctx context.Context) string {
	return c.versions.since(ctx, time.Now().Add(-versionAge))
}

func (c *upstreamCheck) clusterNow(ctx context.Context) (string, error) {
	uid, err := c.clusters.now(ctx)
	if err != nil {
		return "", fmt.Errorf("read the cluster's UID: %w", err)
	}
	return uid, nil
}

// remember stores the version and the cluster of a list, and returns them. before is the version read before the list.
// A returned string is empty if the value is uncertain or the upstream does not provide it.
func (c *upstreamCheck) remember(ctx context.Context, before string) (version, cluster string) {
	c.version = agreed(before, c.versions.since(ctx, time.Now()))
	uid := c.clusters.since(ctx, time.Now().Add(-versionAge))
	if c.doubted = uid == ""; !c.doubted {
		c.cluster = uid // a failed read keeps the last UID
	}
	return c.version, uid
}

func (c *upstreamCheck) doubt() { c.doubted = true }

// sameCluster returns an error if the upstream is another cluster than the lane's. After a watch broke off, the address
// may lead to another cluster, such as a standby. The UID must be read after the new watch was opened: an earlier UID
// may be of another cluster than the watch. If the upstream does not provide the UID, the lane continues, and the next
// watch is checked.
func (c *upstreamCheck) sameCluster(ctx context.Context, opened time.Time) error {
	if !c.doubted {
		return nil
	}
	uid := c.clusters.since(ctx, opened)
	switch {
	case uid == "":
		return nil
	case c.isOtherCluster(uid):
		return fmt.Errorf("%w: %s instead of %s", errElsewhere, uid, c.cluster)
	}
	c.cluster, c.doubted = uid, false
	return nil
}

// isOtherCluster reports whether the upstream is another cluster than before, or no longer provides its UID.
func (c *upstreamCheck) isOtherCluster(uid string) bool { return c.cluster != "" && uid != c.cluster }

// compare checks the upstream's version after a watch was resumed. A kube-apiserver of another version may represent
// objects differently, and unchanged objects in the lane would keep their old representation. fresh is the earliest
// time at which the version may have been read.
//
// An unknown version counts as unchanged. If the version of the lane's list is unknown, the lane is listed again. Its
// watches continue if the differences can be replayed (lost_window.go).
//
// Behind a load balancer, the version may be from another server than the watch. While servers of two versions
// alternate, a lane may keep old objects for one more watch, or be listed once more than necessary.
func (c *upstreamCheck) compare(ctx context.Context, fresh time.Time) error {
	now := c.versions.since(ctx, fresh)
	switch {
	case now == "":
		return nil
	case now == c.version:
		c.replaced.agrees()
		return nil
	case !c.replaced.lists():
		c.log.Info("Keeping a lane that was listed from another or an unknown kube-apiserver version; the last relist for this reason was too recent",
			zap.String("version", now), zap.String("listed", c.version))
		return nil
	case c.version == "":
		return fmt.Errorf("%w; the current version is %q", errUncertain, now)
	}
	return fmt.Errorf("%w: %q instead of %q", errReplaced, now, c.version)
}

// mayBeVersion reports whether the upstream may have the version from which the last list was read. If either version
// is unknown, it returns true: the comparison of bytes decides.
func (c *upstreamCheck) mayBeVersion(ctx context.Context, moment time.Time) bool {
	now := c.versions.since(ctx, moment)
	return c.version == "" || now == "" || now == c.version
}

// agreed returns the version during a list, or an empty string if the versions before and after it differ.
func agreed(before, after string) string {
	if before != "" && after != "" && before != after {
		return "" // the upstream was replaced during the list, or its address leads to several servers
	}
	return cmp.Or(before, after)
}

// replacement limits how often a lane is listed again because of another version of kube-apiserver.
type replacement struct {
	brake
	differs time.Time // when the version last differed
}

func newReplacement() replacement { return replacement{brake: brake{pause: relistPause}} }

// lists() records that kube-apiserver has another version. It reports whether the lane has to be listed again.
func (r *replacement) lists() bool {
	r.differs = time.Now()
	if !r.mayRelist() {
		return false
	}
	r.relists()
	return true
}

// agrees records that kube-apiserver has the version of the lane's list. If no other version was seen for longer than
// the pause, agrees resets the pause.
func (r *replacement) agrees() {
	if time.Since(r.differs) > r.pause {
		r.ends()
	}
}

// origin identifies the upstream from which an epoch was listed. It becomes known only after the State is visible,
// because it needs two further requests.
type origin struct {
	known   chan struct{} // closed when version and cluster are set
	version string        // empty if it is uncertain
	cluster string        // UID of the cluster; empty if it is unknown
}

func newOrigin() *origin { return &origin{known: make(chan struct{})} }

// is(version, cluster) makes the origin known. Only the writer calls it, once.
func (o *origin) is(version, cluster string) {
	o.version, o.cluster = version, cluster
	close(o.known)
}

func (o *origin) now() (version string, known bool) {
	select {
	case <-o.known:
		return o.version, true
	default:
		return "", false
	}
}

func (o *origin) await(ctx context.Context) error {
	if _, known := o.now(); known {
		return nil
	}
	select {
	case <-o.known:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
