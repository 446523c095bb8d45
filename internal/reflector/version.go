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

// versionAge is how old an answer about the upstream's version may be for a watch that went on in peace; lanes whose
// watches end at about the same time share one question.
const versionAge = 10 * time.Second

// newVersions asks for the upstream's version.
func newVersions(client *upstream.Client) *identity {
	return newIdentity(func(ctx context.Context) string { return versionOf(ctx, client) })
}

func versionOf(ctx context.Context, client *upstream.Client) string {
	text, err := client.ServerVersion(ctx)
	// A newer kube-apiserver may be told to act as an older one, in what it writes, too (KEP-4330).
	var version struct{ GitVersion, EmulationMajor, EmulationMinor string }
	if err != nil || json.Unmarshal(text, &version) != nil || version.GitVersion == "" {
		return ""
	}
	return fmt.Sprintf("%s as %s.%s", version.GitVersion, version.EmulationMajor, version.EmulationMinor)
}

// snapshotsSince is the version from which on kube-apiserver answers pages of a list, and lists at an exact version,
// from memory; before, each is read from etcd and decoded.
var snapshotsSince = utilversion.MustParseGeneric("1.34")

// hasSnapshots tells whether the upstream is of such a version, as far as it tells.
func hasSnapshots(told string) bool {
	git, emulated, _ := strings.Cut(told, " as ")
	for _, text := range []string{emulated, git} {
		if v, err := utilversion.ParseGeneric(text); err == nil {
			return v.AtLeast(snapshotsSince)
		}
	}
	return false
}

// compare is asked when a watch was resumed, and may be so with another kube-apiserver: one of another version
// writes objects in another way (fields that it knows, defaults, the cells of its Tables), and those that do not
// change would stay in the lane as the last one wrote them. fresh is the moment from which on an answer counts.
//
// A version that is not known is no other one. Where that of the lane's list is not, a new list is compared with
// what the lane has, and the watches go on if that is the same (lost_window.go).
//
// Behind a load balancer, the answer may come from another server than the watch. While servers of two versions take
// turns, a lane may so keep objects of the older for one watch more, or be listed once too often. If they go on
// taking turns, the pauses between two such lists grow.
func (w *writer) compare(ctx context.Context, fresh time.Time) error {
	now := w.versions.since(ctx, fresh)
	switch {
	case now == "":
		return nil
	case now == w.version:
		w.replaced.agrees()
		return nil
	case !w.replaced.lists():
		w.log.Info("Keeping the lane of another version of the upstream; it was listed for that not long ago",
			zap.String("version", now), zap.String("listed", w.version))
		return nil
	case w.version == "":
		return fmt.Errorf("%w: now it is %q", errUncertain, now)
	}
	return fmt.Errorf("%w: %q, before it was %q", errReplaced, now, w.version)
}

// agreed is the version of the upstream during a list, by what it said before it and after it; empty when it said
// two, or nothing.
func agreed(before, after string) string {
	if before != "" && after != "" && before != after {
		return "" // it was replaced meanwhile, or there are several
	}
	return cmp.Or(before, after)
}

// replacement bounds how often a lane is listed because the upstream is of another version, as the self-audit is
// (selfaudit_brake.go).
type replacement struct {
	brake
	differs time.Time // when it last was
}

func newReplacement() replacement { return replacement{brake: brake{pause: auditMend}} }

// lists notes that the upstream is of another version, and reports whether the lane is listed for that.
func (r *replacement) lists() bool {
	r.differs = time.Now()
	if !r.mayMend() {
		return false
	}
	r.mends()
	return true
}

// agrees notes that the upstream is of the lane's version. When it has been for as long as the pause, pauses are
// short again.
func (r *replacement) agrees() {
	if time.Since(r.differs) > r.pause {
		r.ends()
	}
}

// origin is the upstream that an epoch was listed from. It is known two questions after the State is shown.
type origin struct {
	known   chan struct{} // closed when it is
	version string        // empty when that is not certain
	cluster string        // the cluster's UID; empty when the upstream did not tell it
}

func newOrigin() *origin { return &origin{known: make(chan struct{})} }

// is makes it known; only the writer calls it, once.
func (o *origin) is(version, cluster string) {
	o.version, o.cluster = version, cluster
	close(o.known)
}

// now returns the version, and whether it is known.
func (o *origin) now() (version string, known bool) {
	select {
	case <-o.known:
		return o.version, true
	default:
		return "", false
	}
}

// await waits until it is known. It fails with the context's cause when that ends before.
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
