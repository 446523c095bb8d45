package wire

import (
	"compress/gzip"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// TestWriteMemberIsReadAtOnce reads members as Go's HTTP client does, as one stream: each must come out before the next
// begins.
func TestWriteMemberIsReadAtOnce(t *testing.T) {
	for _, text := range []string{"x\n", strings.Repeat("a frame\n", 3), strings.Repeat("many frames\n", 20000)} {
		r, w := io.Pipe()
		defer func() { _ = w.Close() }()
		go func() {
			_ = WriteMember(w, []byte(text)) // and nothing after it, as while no event comes
		}()
		read := make(chan string, 1)
		go func() {
			z, err := gzip.NewReader(r)
			if err != nil {
				read <- err.Error()
				return
			}
			got := make([]byte, len(text))
			_, _ = io.ReadFull(z, got)
			read <- string(got)
		}()
		select {
		case got := <-read:
			if got != text {
				t.Errorf("read %d other bytes, wrote %d", len(got), len(text))
			}
		case <-time.After(settings.Patience()):
			t.Fatalf("%d bytes are held back until another member comes", len(text))
		}
	}
}
