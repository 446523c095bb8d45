package reflector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// mediaPartial is how account watches are asked for: the metadata alone, in protobuf, costs the upstream least.
const mediaPartial = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"

// accountRefused is how long a resource is left alone that the upstream does not let the facade watch.
const accountRefused = 10 * time.Minute

// accountWatch hears of the versions of one resource. It keeps nothing of its objects.
type accountWatch struct {
	client   *upstream.Client
	resource upstream.Resource
	source   source
	ear      *fresh.Subscription
	opening  chan struct{}
	last     cache.RV // of what was heard; 0 when the next watch begins at the upstream's version of now
}

// run watches until the context ends. A watch whose time is over goes on where it was; after any other end it is not
// known what was missed, nor whether it is the same history.
func (a *accountWatch) run(ctx context.Context) {
	defer a.ear.Interrupted()
	pause := newBackoff(a.client.Silent)
	for ctx.Err() == nil {
		began := time.Now()
		err := a.watch(ctx)
		if err == nil {
			continue
		}
		a.ear.Interrupted()
		a.last = 0
		pause.lived(time.Since(began))
		atLeast := retryAfter(err)
		if errors.Is(err, fresh.ErrUnsupported) || upstream.HasCode(err, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable) {
			atLeast = accountRefused
		}
		pause.sleep(ctx, atLeast)
	}
}

// watch reads one watch to its end, which is no error when its time is over.
func (a *accountWatch) watch(ctx context.Context) error {
	select {
	case a.opening <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	seconds := 300 + rand.IntN(300) // as long as those of lanes
	until := time.Now().Add(time.Duration(seconds) * time.Second)
	ctx, cancel := context.WithDeadline(ctx, until.Add(lateEnd))
	defer cancel()
	body, err := a.open(ctx, seconds)
	<-a.opening
	if err != nil {
		return err
	}
	defer body.Close()
	for frames := (wire.Prefixed{}).Reader(body, wire.FrameLimit); err == nil; {
		err = a.next(frames)
	}
	if errors.Is(err, io.EOF) && time.Until(until) < earlyEnd {
		return nil
	}
	return err
}

// open opens a watch from where the last one was, or from now.
func (a *accountWatch) open(ctx context.Context, seconds int) (io.ReadCloser, error) {
	if a.last == 0 {
		now, err := a.source.ResourceVersion(ctx)
		if err != nil {
			return nil, err
		}
		a.last = now
	}
	query := watchQuery(a.last)
	query.Set("timeoutSeconds", strconv.Itoa(seconds))
	response, err := a.client.Open(ctx, upstream.Target{Path: a.resource.Path(""), Query: query}, mediaPartial)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// next reads one frame.
func (a *accountWatch) next(frames wire.FrameReader) error {
	raw, err := frames.Next()
	if err != nil {
		return err
	}
	event, rv, err := readReceived(raw)
	switch {
	case err != nil:
		return err
	case rv < a.last:
		return fmt.Errorf("read an account watch's frame: its resourceVersion went back from %d to %d", a.last, rv)
	}
	a.last = rv
	switch event {
	case wire.TypeBookmark:
	case wire.TypeAdded, wire.TypeModified, wire.TypeDeleted:
		a.ear.Received(rv)
	default:
		return fmt.Errorf("read an account watch's frame: unknown event type %q", event)
	}
	return nil
}

// readReceived reads the type of a frame's event, and the resourceVersion of the object in it. A frame with an error is
// that error.
func readReceived(frame []byte) (event string, rv cache.RV, err error) {
	var read metav1.WatchEvent
	var envelope runtime.Unknown
	var object metav1.PartialObjectMetadata
	if err := read.Unmarshal(frame); err != nil {
		return "", 0, fmt.Errorf("read an account watch's frame: %w", err)
	}
	enveloped, ok := bytes.CutPrefix(read.Object.Raw, []byte(protobufMagic))
	if !ok {
		return "", 0, errors.New("read an account watch's frame: its object is not protobuf")
	}
	if err := envelope.Unmarshal(enveloped); err != nil {
		return "", 0, fmt.Errorf("read an account watch's frame: %w", err)
	}
	if read.Type == wire.TypeError {
		return "", 0, readFailure(envelope.Raw)
	}
	if err := object.Unmarshal(envelope.Raw); err != nil {
		return "", 0, fmt.Errorf("read an account watch's frame: %w", err)
	}
	rv, err = cache.ParseRV(object.ResourceVersion)
	if err == nil && rv == 0 {
		err = errors.New("read an account watch's frame: its object has no resourceVersion")
	}
	return read.Type, rv, err
}

func readFailure(raw []byte) error {
	var failure metav1.Status
	if err := failure.Unmarshal(raw); err != nil {
		return fmt.Errorf("read an account watch's error: %w", err)
	}
	return statusOf(&wire.Failure{Code: int(failure.Code), Status: []byte(failure.Message)})
}
