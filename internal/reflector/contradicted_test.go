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

// While the upstream refuses watches, a roll call contradicts the lane. The lane is listed again at once, during a long
// pause between two attempts to open the watch.
func TestContradictionWhileWatchIsRefusedRelists(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		r.Script(testkit.AskWatch, testkit.Refuse(http.StatusTooManyRequests, "TooManyRequests"))
		r.DropWatches()
		elapse(5 * time.Minute)
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
