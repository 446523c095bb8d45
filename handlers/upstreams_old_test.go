package handlers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
)

// oldWays are earlier upstreams without streaming lists or bookmarks.
var oldWays = map[string]testkit.Ways{
	"1.13":                   {Streaming: testkit.StreamingIgnored, NoBookmarks: true, NullTimes: true},
	"1.18":                   {Streaming: testkit.StreamingIgnored, NullTimes: true},
	"1.26":                   {Streaming: testkit.StreamingRefused, NullTimes: true},
	"1.26 without bookmarks": {Streaming: testkit.StreamingRefused, NoBookmarks: true, NullTimes: true},
	"1.33 without bookmarks": {NoBookmarks: true, NullTimes: true},
}

// inFrontOf runs a test in front of each of them.
func inFrontOf(t *testing.T, test func(*testing.T, *facade)) {
	for name, ways := range oldWays {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, f *facade) {
				f.SetWays(ways)
				f.Put("ns/a", "1")
				f.get(t, reads[0]) // may be refused with a 429
				synctest.Wait()
				<-time.After(time.Minute)
				test(t, f)
			})
		})
	}
}

// holds reports whether a response contains an object at a version.
func holds(body string, rv uint64) bool {
	return strings.Contains(body, fmt.Sprintf(`"resourceVersion":"%d"`, rv))
}

// With any upstream, a response from the cache is correct, and a consistent read includes every earlier write. A read
// that cannot be confirmed fresh is forwarded after a bounded time, because there is no bookmark to wait for.
func TestReadsFromOldUpstreams(t *testing.T) {
	inFrontOf(t, func(t *testing.T, f *facade) {
		for i := range manyObjects + 1 { // too many to be forwarded immediately
			f.Put(fmt.Sprint("big/", i), "1")
		}
		for _, quiet := range []bool{false, true} {
			rv := f.Put("ns/a", "2")
			now := rv
			if quiet {
				now = f.Elsewhere() // the lane does not receive this
			}
			for _, target := range []string{
				"/api/v1/namespaces/ns/configmaps", "/api/v1/configmaps", "/api/v1/configmaps?limit=600", "/api/v1/namespaces/ns/configmaps/a",
				fmt.Sprintf("/api/v1/namespaces/ns/configmaps?resourceVersion=%d", now),
				fmt.Sprintf("/api/v1/namespaces/ns/configmaps/a?resourceVersion=%d", now),
				fmt.Sprintf("/api/v1/configmaps?resourceVersion=%d", rv), "/api/v1/namespaces/ns/configmaps/a?resourceVersion=0",
			} {
				began := time.Now()
				response, body := f.get(t, target)
				if response.StatusCode != http.StatusOK || !holds(body, rv) {
					t.Errorf("quiet %t: %s: got %d without the write at %d: %s", quiet, target, response.StatusCode, rv, body[:min(len(body), 300)])
				}
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("quiet %t: %s: got a response after %s", quiet, target, took)
				}
			}
		}
	})
}

// Without bookmarks, a lane cannot find out that other resources have reached a version. Lists of any size are then
// forwarded, instead of waiting for the timeout.
func TestUnreachedVersionsAreForwardedWithoutBookmarks(t *testing.T) {
	for _, name := range []string{"1.13", "1.26 without bookmarks"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, f *facade) {
				f.SetWays(oldWays[name])
				for i := range manyObjects + 1 {
					f.Put(fmt.Sprint("big/", i), "1")
				}
				f.get(t, reads[0])
				<-time.After(time.Minute)
				rv := f.Put("ns/a", "2")
				response, body := f.get(t, fmt.Sprintf("/api/v1/configmaps?resourceVersion=%d", f.Elsewhere()))
				if response.StatusCode != http.StatusOK || !holds(body, rv) {
					t.Errorf("got %d: %s", response.StatusCode, body[:min(len(body), 300)])
				}
			})
		})
	}
}

// A watch sends everything once, whether the upstream's own watch ends or not, and its bookmarks are correct.
func TestWatchesOfOldUpstreams(t *testing.T) {
	inFrontOf(t, func(t *testing.T, f *facade) {
		start := f.RV()
		frames := f.follow(t, fmt.Sprintf("/api/v1/configmaps?watch=1&allowWatchBookmarks=true&resourceVersion=%d", start))
		var want []uint64
		for i := range 5 {
			want = append(want, f.Put("ns/a", fmt.Sprint(i)), f.Put(fmt.Sprint("ns/b", i), "1"), f.Delete(fmt.Sprint("ns/b", i)))
			f.Elsewhere()
			<-time.After(2 * time.Minute) // for a bookmark
			f.DropWatches()
			want = append(want, f.Put("ns/a", fmt.Sprint(i, "again")))
			<-time.After(2 * time.Minute)
		}
		f.drain()
		last, marked := start, 0
		for frame := range frames {
			e, err := testkit.Frame{Line: []byte(frame)}.Event()
			switch {
			case err != nil:
				t.Fatal(err)
			case e.Type == testkit.Bookmark && e.RV < last, e.Type == testkit.Bookmark && len(want) > 0 && e.RV >= want[0]:
				t.Errorf("got %s after %d, before %v", e, last, want)
			case e.Type == testkit.Bookmark:
				marked++
			case len(want) == 0 || e.RV != want[0]:
				t.Fatalf("got %s, want one of %v next", e, want)
			default:
				want = want[1:]
			}
			last = e.RV
		}
		if len(want) > 0 || marked == 0 {
			t.Errorf("got %d bookmarks; missing events: %v", marked, want)
		}
	})
}

// follow opens a watch and sends its frames to a channel.
func (f *facade) follow(t *testing.T, target string) <-chan string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://facade.test"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := f.client.Do(request)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: got %v, %v", target, response, err)
	}
	frames := make(chan string, 1000)
	go func() {
		defer close(frames)
		defer response.Body.Close()
		for body := bufio.NewScanner(response.Body); body.Scan(); {
			frames <- body.Text()
		}
	}()
	return frames
}

// Current informers request a streaming list, and get one even if the upstream does not support it.
func TestInformersOfOldUpstreams(t *testing.T) {
	inFrontOf(t, func(t *testing.T, f *facade) {
		informer := dynamicinformer.NewDynamicSharedInformerFactory(f.dynamic(t), 0).ForResource(f.GVR).Informer()
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { informer.RunWithContext(ctx) })
		defer func() { stop(); running.Wait() }()
		for i := range 3 {
			rv := f.Put("ns/a", fmt.Sprint(i))
			<-time.After(time.Minute)
			f.DropWatches()
			if object, ok, err := informer.GetStore().GetByKey("ns/a"); err != nil || !ok || versionOf(t, object) != fmt.Sprint(rv) {
				t.Errorf("the informer, synced %t, holds %v, %v, want ns/a at %d", informer.HasSynced(), object, err, rv)
			}
		}
	})
}

func versionOf(t *testing.T, object any) string {
	t.Helper()
	accessor, err := meta.Accessor(object)
	if err != nil {
		t.Fatal(err)
	}
	return accessor.GetResourceVersion()
}

// dynamic returns an unmodified client of the facade.
func (f *facade) dynamic(t *testing.T) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfigAndClient(&rest.Config{Host: "http://facade.test", QPS: -1}, f.client)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Clients recognize a version that the upstream has not reached by the cause of the error, whatever the upstream
// returns: client-go 0.18 to 0.20 check nothing else.
func TestTooLargeOfOldUpstreams(t *testing.T) {
	for name, details := range map[string]string{"1.16": testkit.TooLarge116, "1.17": testkit.TooLarge117, "today": testkit.TooLargeNow} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, f *facade) {
				f.SetWays(testkit.Ways{TooLarge: details})
				f.Put("ns/a", "1")
				f.get(t, reads[0])
				client := f.dynamic(t).Resource(f.GVR).Namespace("ns")
				const future = "9999"
				_, err := client.List(t.Context(), metav1.ListOptions{ResourceVersion: future})
				saysTooLarge(t, "list", err)
				_, err = client.List(t.Context(), metav1.ListOptions{ResourceVersion: future, Limit: 1})
				saysTooLarge(t, "list with a limit", err)
				_, err = client.Get(t.Context(), "a", metav1.GetOptions{ResourceVersion: future})
				saysTooLarge(t, "get", err)
				response, body := f.get(t, "/api/v1/namespaces/ns/configmaps?resourceVersion="+future)
				if want := testkit.TooLargeText(9999, f.RV(), testkit.TooLargeNow); body != want || response.Header.Get("Retry-After") != "1" {
					t.Errorf("headers %v\n got %s\nwant %s", response.Header, body, want)
				}
			})
		})
	}
}

func saysTooLarge(t *testing.T, what string, err error) {
	t.Helper()
	if !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) || !apierrors.IsTimeout(err) {
		var status apierrors.APIStatus
		errors.As(err, &status)
		t.Errorf("%s: got %v, which clients do not recognize: %+v", what, err, status)
	}
}

// If a time is null in the upstream's bookmarks, it is null in the facade's.
func TestNullTimes(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.SetWays(testkit.Ways{NullTimes: true})
		rv := f.Put("ns/a", "1")
		_, body := f.get(t, "/api/v1/configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1")
		lines := strings.Split(strings.TrimSpace(body), "\n")
		want := fmt.Sprintf(`{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"%d",`+
			`"creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}}}}`, rv)
		if len(lines) != 2 || lines[1] != want || lines[0] != strings.TrimSpace(f.FrameText("ADDED", f.ObjectText("ns/a", rv, "1"), rv, "")) {
			t.Errorf("got\n%s\nwant\n%s", body, want)
		}
	})
}
