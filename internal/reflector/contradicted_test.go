package reflector

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/testkit"
)

// withoutWatch returns a filled lane whose watches the upstream has refused for so long that the pauses are long.
func (r *rig) withoutWatch(t *testing.T) *Reflector {
	t.Helper()
	r.Put("ns/a", "1")
	lane := r.synced(t)
	r.Script(testkit.AskWatch, testkit.Refuse(http.StatusTooManyRequests, "TooManyRequests"))
	r.DropWatches()
	elapse(5 * time.Minute)
	return lane
}

// While the upstream refuses watches, a roll call contradicts the lane. The lane is listed again at once, during a long
// pause between two attempts to open the watch.
func TestContradictionWhileWatchIsRefusedRelists(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lane := r.withoutWatch(t)
		r.Script(testkit.AskRoll, text(fmt.Sprintf(`{"metadata":{"resourceVersion":"%d"},"items":[]}`, r.RV())))
		if _, _, err := lane.Recent(t.Context(), time.Now(), smallAnswer); !errors.Is(err, fresh.ErrContradicted) {
			t.Errorf("got %v, want ErrContradicted", err)
		}
		elapse(time.Second)
		if r.relisted.Load() != 1 || lane.Contradicted() {
			t.Errorf("got %d relists after a second, contradicted %t, want one relist", r.relisted.Load(), lane.Contradicted())
		}
	})
}

// While the upstream refuses watches, the self-audit finds a difference. The lane is listed again before the next
// attempt to open the watch.
func TestDifferenceWhileWatchIsRefusedRelists(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lane := r.withoutWatch(t)
		lane.contradict(errAudited)
		elapse(time.Minute)
		if r.relisted.Load() != 1 || lane.Contradicted() {
			t.Errorf("got %d relists after a minute, contradicted %t, want one relist", r.relisted.Load(), lane.Contradicted())
		}
	})
}

// The lane is listed again because its objects differ from the upstream's. During the list, a reader finds that the
// upstream was restored. This is noted for all lanes, once.
func TestSetBackDuringRelistIsNoted(t *testing.T) {
	for _, reason := range []error{errAudited, errRestored} {
		inBubble(t, configMaps, func(t *testing.T, r *rig) {
			r.noRollCalls()
			r.Put("ns/a", "1")
			r.Put("ns/b", "1")
			lane := r.synced(t)
			listed := make(chan struct{})
			r.Script(testkit.AskStreaming, func(w http.ResponseWriter, request *http.Request) { <-listed; r.Truth(w, request) })
			lists := r.Asked(testkit.AskStreaming)
			lane.contradict(reason)
			until(t, 10*time.Millisecond, "the lane is listed again", func() bool { return r.Asked(testkit.AskStreaming) > lists })
			r.Restore(2)
			if _, err := lane.Now(t.Context()); !errors.Is(err, fresh.ErrSetBack) {
				t.Errorf("got %v, want ErrSetBack", err)
			}
			close(listed)
			elapse(time.Second)
			if noted := r.lanes.otherPasts.Load(); noted != 1 || lane.Contradicted() {
				t.Errorf("%v: got %d other pasts, contradicted %t, want 1 and false", reason, noted, lane.Contradicted())
			}
		})
	}
}

// A lane is known to be wrong. It does not answer until it is listed again, also if the first list fails.
func TestLaneThatWriterFoundWrongDoesNotAnswer(t *testing.T) {
	for reason, want := range map[error]error{
		errAudited: fresh.ErrContradicted, errElsewhere: fresh.ErrContradicted, errRestored: fresh.ErrSetBack, errReplaced: nil,
	} {
		inBubble(t, configMaps, func(t *testing.T, r *rig) {
			r.Put("ns/a", "1")
			lane := r.synced(t)
			r.Script(testkit.AskStreaming, testkit.Refuse(http.StatusInternalServerError, "InternalError"))
			lane.contradict(reason)
			elapse(time.Minute)
			if found := lane.checker.Contradiction(); !errors.Is(found, want) || lane.Contradicted() != (want != nil) {
				t.Errorf("%v: got %v, want %v", reason, found, want)
			}
			if _, _, err := lane.Recent(t.Context(), time.Now(), smallAnswer); want != nil && !errors.Is(err, fresh.ErrContradicted) {
				t.Errorf("%v: got %v, want ErrContradicted", reason, err)
			}
			r.Script(testkit.AskStreaming, nil)
			elapse(2 * time.Minute)
			if _, _, err := lane.Recent(t.Context(), time.Now(), smallAnswer); err != nil || lane.Contradicted() {
				t.Errorf("%v: after the new list: got %v, contradicted %t, want a fresh State", reason, err, lane.Contradicted())
			}
		})
	}
}
