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

// versionAge is the maximum age of a known upstream version for a watch that ended at its timeout. Lanes whose watches
// end at about the same time share one request.
const versionAge = 10 * time.Second

// newVersions returns the identity that reads the version of the upstream's kube-apiserver.
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

// hasSnapshots reports whether the upstream's version is known and serves pages from memory.
func hasSnapshots(version string) bool {
	git, emulated, _ := strings.Cut(version, " as ")
	for _, text := range []string{emulated, git} {
		if v, err := utilversion.ParseGeneric(text); err == nil {
			return v.AtLeast(snapshotsSince)
		}
	}
	return false
}

// compare checks the upstream's version after a watch was resumed, possibly by another kube-apiserver. A kube-apiserver
// of another version may represent objects differently: with other fields, defaults and Table cells. Unchanged objects
// in the lane would keep their old representation. fresh is the earliest time at which a known version is up to date.
//
// An unknown version counts as unchanged. If the version of the lane's list is unknown, a new list is compared with the
// lane. Its watches continue if the differences can be replayed (lost_window.go).
//
// Behind a load balancer, the version may be from another server than the watch. While servers of two versions
// alternate, a lane may keep old objects for one more watch, or be listed once more than necessary. If they continue to
// alternate, the pauses between such lists grow.
func (w *writer) compare(ctx context.Context, fresh time.Time) error {
	now := w.versions.since(ctx, fresh)
	switch {
	case now == "":
		return nil
	case now == w.version:
		w.replaced.agrees()
		return nil
	case !w.replaced.lists():
		w.lane.log.Info("Keeping a lane of another upstream version; it was relisted for that recently",
			zap.String("version", now), zap.String("listed", w.version))
		return nil
	case w.version == "":
		return fmt.Errorf("%w; the current one is %q", errUncertain, now)
	}
	return fmt.Errorf("%w: %q instead of %q", errReplaced, now, w.version)
}

// agreed returns the upstream's version during a list, given the versions before and after it. It is empty if they
// differ or both are unknown.
func agreed(before, after string) string {
	if before != "" && after != "" && before != after {
		return "" // the upstream was replaced during the list, or there are several
	}
	return cmp.Or(before, after)
}

// replacement limits how often a lane is listed again because kube-apiserver has another version. It uses the brake of
// the self-audit (selfaudit_brake.go).
type replacement struct {
	brake
	differs time.Time // when the version last differed
}

func newReplacement() replacement { return replacement{brake: brake{pause: relistPause}} }

// lists records that kube-apiserver has another version, and reports whether the lane is listed again because of that.
func (r *replacement) lists() bool {
	r.differs = time.Now()
	if !r.mayRelist() {
		return false
	}
	r.relists()
	return true
}

// agrees records that kube-apiserver has the version of the lane's list. If this has been so for longer than the pause,
// the pause is reset.
func (r *replacement) agrees() {
	if time.Since(r.differs) > r.pause {
		r.ends()
	}
}

// origin identifies the upstream from which an epoch was listed. It becomes known only after the State is visible,
// because it needs two further requests.
type origin struct {
	known   chan struct{} // closed when the rest is set
	version string        // empty if it is uncertain
	cluster string        // UID of the cluster; empty if it is unknown
}

func newOrigin() *origin { return &origin{known: make(chan struct{})} }

// is sets the version and the cluster. Only the writer calls it, once.
func (o *origin) is(version, cluster string) {
	o.version, o.cluster = version, cluster
	close(o.known)
}

// now returns the version, and whether it is known yet.
func (o *origin) now() (version string, known bool) {
	select {
	case <-o.known:
		return o.version, true
	default:
		return "", false
	}
}

// await waits until the origin is known. It returns the context's cause if the context ends first.
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
