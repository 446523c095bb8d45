package testkit

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// A goroutine that ends late is not a leak.
func TestLeftIgnoresGoroutinesThatEnd(t *testing.T) {
	others := goleak.IgnoreCurrent()
	stays := make(chan struct{})
	go func() { <-stays }()
	if err := left(0, others); err == nil {
		t.Error("got no error for a goroutine that remains")
	}
	time.AfterFunc(time.Second, func() { close(stays) }) //pace: goleak has given up by then
	if err := left(settings.Patience(), others); err != nil {
		t.Errorf("got %v for a goroutine that has ended", err)
	}
}
