package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/listfacade/listfacade/internal/wire"
)

const (
	// followLimit bounds a list of followed objects in bytes.
	followLimit = 64 << 20
	// followSilence is how long a watch may bring nothing: bookmarks come once a minute.
	followSilence = 150 * time.Second
	// followSettled is how long a watch has to last for the next failure to count as the first.
	followSettled = 5 * time.Second
	// followRefused is the pause after a refusal of the list or the watch, which lasts until somebody changes a right.
	followRefused = 10 * time.Minute
	// followLook is how often a pause looks whether an outage is over, and followSpread the time in which it then ends.
	followLook   = time.Second
	followSpread = 2 * time.Second
)

// Followed is a resource of which every object and every change is read. The functions are called by the goroutine
// that follows, one after the other.
type Followed struct {
	Path        string
	List, Watch string // media types: of the list, and of the watch
	// Listed receives all objects that there are. With an error they are not watched, and are listed again.
	Listed func(objects []json.RawMessage) error
	// Changed receives an object that was added, modified or deleted.
	Changed func(event string, object json.RawMessage)
	// Failed receives why the objects cannot be followed at the moment; nil: the watch is open.
	Failed func(err error)
}

// Follow lists and watches until the context ends. When a watch ends, the objects are listed again: another server,
// with another past, may answer by then.
func (c *Client) Follow(ctx context.Context, f Followed) {
	for pause := newFollowPause(); ctx.Err() == nil; {
		began := time.Now()
		version, err := c.followList(ctx, f)
		if err == nil {
			err = c.followWatch(ctx, f, version)
		}
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > followSettled {
			pause = newFollowPause()
		}
		if !errors.Is(err, io.EOF) && !HasCode(err, http.StatusGone) {
			f.Failed(err)
		}
		if HasCode(err, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed) {
			_ = c.followSleep(ctx, followRefused+rand.N(time.Minute))
		} else if c.followSleep(ctx, pause.Step()) {
			pause = newFollowPause()
		}
	}
}

// followSleep waits for the next attempt. It reports whether the wait was cut short because an outage ended.
func (c *Client) followSleep(ctx context.Context, pause time.Duration) (cut bool) {
	timer, look := time.NewTimer(pause), time.NewTicker(followLook)
	defer timer.Stop()
	defer look.Stop()
	for away := c.Silent() > 0; ; {
		select {
		case <-timer.C:
			return cut
		case <-ctx.Done():
			return cut
		case <-look.C:
			heard := c.Silent() == 0
			if away && heard && !cut {
				cut = true
				timer.Reset(rand.N(followSpread))
			}
			away = !heard
		}
	}
}

// newFollowPause spaces attempts: from 100 ms, doubling to 30 s, each with up to its own length of jitter.
func newFollowPause() *wait.Backoff {
	return &wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 1 << 30, Cap: 30 * time.Second}
}

// followList reads all objects and returns the version that they are of.
func (c *Client) followList(ctx context.Context, f Followed) (string, error) {
	body, err := c.Get(ctx, Target{Path: f.Path}, f.List, followLimit)
	if err != nil {
		return "", err
	}
	var list struct {
		Kind     string
		Metadata struct{ ResourceVersion string }
		Items    []json.RawMessage
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return "", fmt.Errorf("read %s: %w", f.Path, err)
	}
	if list.Metadata.ResourceVersion == "" {
		return "", fmt.Errorf("read %s: the %s has no resourceVersion", f.Path, list.Kind)
	}
	return list.Metadata.ResourceVersion, f.Listed(list.Items)
}

// followWatch reads changes after a version until the watch ends, or has been silent for too long.
func (c *Client) followWatch(ctx context.Context, f Followed, version string) error {
	query := url.Values{
		"watch": {"1"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {version},
		"timeoutSeconds": {strconv.Itoa(300 + rand.IntN(300))},
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(followSilence, func() { cancel(io.EOF) })
	defer silent.Stop()
	response, err := c.Open(ctx, Target{Path: f.Path, Query: query}, f.Watch)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	f.Failed(nil)
	for frames := (wire.Lines{}).Reader(response.Body, wire.FrameLimit); ; {
		frame, err := frames.Next()
		if err == nil {
			silent.Reset(followSilence)
			err = f.read(frame)
		}
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
	}
}

// read hands over what one frame says.
func (f Followed) read(frame []byte) error {
	var event struct {
		Type   string
		Object json.RawMessage
	}
	if err := json.Unmarshal(frame, &event); err != nil {
		return fmt.Errorf("read an event of %s: %w", f.Path, err)
	}
	switch event.Type {
	case "ADDED", "MODIFIED", "DELETED":
		f.Changed(event.Type, event.Object)
	case "ERROR":
		var status struct{ Code int }
		if err := json.Unmarshal(event.Object, &status); err != nil {
			return fmt.Errorf("read an event of %s: %w", f.Path, err)
		}
		return &StatusError{Code: status.Code, Header: http.Header{}, Body: event.Object}
	}
	return nil
}
