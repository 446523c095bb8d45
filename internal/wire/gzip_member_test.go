package wire

import (
	"compress/gzip"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// Members are read as one stream, as Go's HTTP client does. Each member must be readable before the next one begins.
func TestMemberIsReadableBeforeTheNext(t *testing.T) {
	for _, text := range []string{"x\n", strings.Repeat("a frame\n", 3), strings.Repeat("many frames\n", 20000)} {
		r, w := io.Pipe()
		defer func() { _ = w.Close() }()
		go func() {
			_ = WriteMember(w, []byte(text)) // no other member follows, as when there are no events
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
				t.Errorf("got %d different bytes, want %d", len(got), len(text))
			}
		case <-time.After(settings.Patience()):
			t.Fatalf("got nothing, want %d bytes before the next member", len(text))
		}
	}
}
