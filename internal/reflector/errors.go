package reflector

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
)

// ErrStopped says that no lane is given out any more.
var ErrStopped = errors.New("the lanes are stopped")

// ErrForeign says that another server than the upstream itself answers for a resource, each caller in its own way.
var ErrForeign = errors.New("another server answers for the resource")

var (
	// errRedefined says that the resource is not what the lane was made for. A lane's kind, which requests are parsed
	// with, does not change under them: the lane ends, and the next request starts another.
	errRedefined = errors.New("the resource is defined in another way than before")
	// errReprinted says that the Tables of the resource have other columns than before.
	errReprinted = errors.New("the resource is printed with other columns than before")
	// errRestored says that the upstream is behind what it has said before: its etcd came back from a backup.
	errRestored = errors.New("the upstream is at an earlier resourceVersion than before")
	// errContradicted says that the upstream has other objects than the lane at one resourceVersion.
	errContradicted = errors.New("the upstream has other objects at the same resourceVersion")
	// errAudited says that the self-audit found other objects than the upstream has at one resourceVersion.
	errAudited = errors.New("the self-audit found other objects than the upstream has at the same resourceVersion")
	// errReplaced says that the upstream is of another version than the one that the lane was listed from.
	errReplaced = errors.New("the upstream is of another version than before")
	// errElsewhere says that the upstream is another cluster than the one that the lane was listed from.
	errElsewhere = errors.New("the upstream is another cluster than before")
	// errUncertain says that nobody knows of which version the upstream was that the lane was listed from. It may be the
	// one that answers now: what the lane has is compared with a new list.
	errUncertain = errors.New("it is not known from which version of the upstream the lane was listed")
	// errOver says that the lane ends, because of the error that it wraps.
	errOver = errors.New("the lane ends")
)

// errForgotten says that the upstream cannot tell what follows, for it has forgotten what was there before.
var errForgotten = errors.New("the upstream has forgotten what the next event changed")

// errSilent says that a watch on which bookmarks came has become silent.
var errSilent = errors.New("the upstream's watch brings nothing any more")

// errEndless says that a streaming list goes on without an end of its initial events: its server does not know them and
// began a plain watch.
var errEndless = errors.New("the streaming list does not end its initial events")

// Failure is why a lane is not filled at the moment.
type Failure struct {
	Err  error
	When time.Time
	// Refused: the lane ended, because the upstream will not let the facade list or watch this resource (404, 405, 406,
	// and 401 or 403 when they have lasted, were confirmed, or met a lane that had nothing to show) or because the
	// resource was redefined; requests for it are the upstream's to answer. Or there is no memory for it.
	Refused bool
}

// Gone tells whether the upstream does not know the resource as the lane does: discovery has to be read again.
func (f *Failure) Gone() bool {
	return f.Refused && (upstream.HasCode(f.Err, http.StatusNotFound) || errors.Is(f.Err, errRedefined))
}

// NoMemory tells whether the lane ended because there is no memory for it.
func (f *Failure) NoMemory() bool { return errors.Is(f.Err, ErrNoMemory) }

// TooLarge tells whether the lane ended because it needs more memory than its resource may take.
func (f *Failure) TooLarge() bool { return errors.Is(f.Err, ErrTooLarge) }

// isLost tells whether err says that the upstream no longer holds what follows the wanted resourceVersion, or has
// bridged a gap behind it.
func isLost(err error) bool {
	return upstream.HasCode(err, http.StatusGone) || errors.Is(err, cache.ErrLateDeletion) || errors.Is(err, errForgotten)
}

// endsEpoch tells whether the lane has to be listed again, if it goes on at all.
func endsEpoch(err error) bool {
	return isLost(err) || errors.Is(err, errRedefined) || errors.Is(err, errReprinted) || errors.Is(err, errRestored) ||
		errors.Is(err, errContradicted) || errors.Is(err, errAudited) || errors.Is(err, errReplaced) || errors.Is(err, errUncertain) || errors.Is(err, errElsewhere) ||
		errors.Is(err, ErrTooLarge)
}

// isUnreadable tells whether the upstream does not serve the resource as it was asked for.
func isUnreadable(err error) bool {
	return upstream.HasCode(err, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable)
}

// isForbidden tells whether the upstream does not let the facade read the resource, for now or for ever.
func isForbidden(err error) bool {
	return upstream.HasCode(err, http.StatusUnauthorized, http.StatusForbidden)
}

// maxRetryAfter bounds what an upstream may ask us to wait.
const maxRetryAfter = 30 * time.Second

// retryAfter is what the upstream asked us to wait, at most 30 s; 0 when it did not.
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
