package testkit

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// TestLeft: a goroutine that ends late is none that stays.
func TestLeft(t *testing.T) {
	others := goleak.IgnoreCurrent()
	stays := make(chan struct{})
	go func() { <-stays }()
	if err := left(0, others); err == nil {
		t.Error("a goroutine that stays is not found")
	}
	time.AfterFunc(time.Second, func() { close(stays) }) //pace: goleak has given up by then
	if err := left(settings.Patience(), others); err != nil {
		t.Errorf("a goroutine that ended is found: %v", err)
	}
}
