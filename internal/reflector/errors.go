package reflector

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/upstream"
)

// ErrStopped is returned if the lane has been stopped, or if Lanes.Run is not running.
var ErrStopped = errors.New("the lanes are not running")

// ErrAggregated is returned for a resource that an aggregated API server serves. That server may send different objects
// to each caller.
var ErrAggregated = errors.New("an aggregated API server may serve the resource")

var (
	// errRedefined is the error after a change of the resource's definition. Requests are parsed with the selectable
	// fields of a lane, which must not change. So the lane ends, and the next request starts a new lane.
	errRedefined = errors.New("the definition of the resource has changed")
	errReprinted = errors.New("the Table columns of the resource have changed")
	// errRestored usually means that etcd was restored from a backup.
	errRestored     = errors.New("the upstream is at an earlier resourceVersion than before")
	errContradicted = errors.New("the upstream and the lane have different objects at the same resourceVersion")
	errAudited      = errors.New("the self-audit found objects that differ from the upstream's at the same resourceVersion")
	errReplaced     = errors.New("kube-apiserver has another version than before")
	errElsewhere    = errors.New("the upstream is another cluster than before")
	// After errUncertain, the new list is compared with the lane: both may come from the same kube-apiserver version.
	errUncertain = errors.New("the version of the kube-apiserver that sent the lane's list is unknown")
	// errEnded marks an error that ends the lane. Such an error wraps errEnded and the cause.
	errEnded = errors.New("lane ended")
)

// contradiction returns why a freshness check contradicts the present list of the lane; nil if none does.
func contradiction(checker *fresh.Checker) error {
	switch found := checker.Contradiction(); {
	case errors.Is(found, fresh.ErrSetBack):
		return errRestored
	case found != nil:
		return errContradicted
	default:
		return nil
	}
}

var errForgotten = errors.New("the upstream has probably compacted a resourceVersion that the next event needs")

var errSilent = errors.New("the upstream's watch did not send an expected bookmark")

// errEndless is the error if a streaming list does not end. Usually the server does not support streaming lists, and
// has opened a plain watch instead.
var errEndless = errors.New("the streaming list sent no initial-events-end bookmark in time")

// Failure is the reason why a lane could not be filled, or ended.
type Failure struct {
	Err  error
	When time.Time
	// Refused is set if the lane ended. Requests for the resource are then forwarded or refused. Possible reasons: the
	// upstream does not serve the resource as requested (404, 405, 406) or refuses the facade (401, 403), the resource was
	// redefined, or the lane is too large for its limit or for the memory. A 401 or 403 ends a lane with a State only if
	// the refusal has lasted, or an access review confirmed it.
	Refused bool
}

// Gone reports whether the upstream does not serve the resource as the lane expects. Discovery then has to be read
// again.
func (f *Failure) Gone() bool {
	return f.Refused && (upstream.HasCode(f.Err, http.StatusNotFound) || errors.Is(f.Err, errRedefined))
}

// NoMemory reports whether the lane ended because there is no memory for it.
func (f *Failure) NoMemory() bool { return errors.Is(f.Err, ErrNoMemory) }

// TooLarge reports whether the lane ended because it exceeded the memory limit of its resource.
func (f *Failure) TooLarge() bool { return errors.Is(f.Err, ErrTooLarge) }

// isLost reports whether an error means that the upstream cannot send the events after the wanted resourceVersion. It
// also returns true if the upstream is a facade that replayed a lost window after that version.
func isLost(err error) bool {
	return upstream.HasCode(err, http.StatusGone) || errors.Is(err, cache.ErrLateDeletion) || errors.Is(err, errForgotten)
}

// endsEpoch reports whether a watch cannot be resumed after an error. The lane is then listed again, or it ends.
func endsEpoch(err error) bool {
	return isLost(err) || errors.Is(err, errRedefined) || errors.Is(err, errReprinted) || errors.Is(err, errRestored) ||
		errors.Is(err, errContradicted) || errors.Is(err, errAudited) || errors.Is(err, errReplaced) ||
		errors.Is(err, errUncertain) || errors.Is(err, errElsewhere) ||
		errors.Is(err, ErrTooLarge)
}

func isUnreadable(err error) bool {
	return upstream.HasCode(err, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable)
}

func isForbidden(err error) bool {
	return upstream.HasCode(err, http.StatusUnauthorized, http.StatusForbidden)
}

const maxRetryAfter = 30 * time.Second

func retryAfter(err error) time.Duration {
	var status *upstream.StatusError
	if !errors.As(err, &status) {
		return 0
	}
	seconds, err := strconv.Atoi(status.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}
