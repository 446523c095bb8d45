package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/dynamic/dynamicinformer"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// spoiltFrame is the index, from 0, of the frame of each watch that is corrupted. Earlier frames are unchanged.
const spoiltFrame = 2

// errSpoilt ends a stream while it is copied.
var errSpoilt = errors.New("the stream was cut off")

// spoiltStream corrupts one frame of a real kube-apiserver's watch.
type spoiltStream struct {
	http.ResponseWriter
	spoil  func(w http.ResponseWriter, frames [][]byte) error // receives the frames up to now
	frames [][]byte
	rest   []byte
	spoilt *atomic.Int32
}

// Unwrap lets http.ResponseController flush.
func (s *spoiltStream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Write implements io.Writer.
func (s *spoiltStream) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	for {
		frame, rest, whole := bytes.Cut(s.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		s.frames, s.rest = append(s.frames, append(bytes.Clone(frame), '\n')), bytes.Clone(rest)
		if len(s.frames) == spoiltFrame+1 {
			s.spoilt.Add(1)
			if err := s.spoil(s.ResponseWriter, s.frames); err != nil {
				return 0, err
			}
			continue
		}
		if _, err := s.ResponseWriter.Write(s.frames[len(s.frames)-1]); err != nil {
			return 0, err
		}
	}
}

// send sends frames instead of one.
func send(then error, frames ...[]byte) func(http.ResponseWriter) error {
	return func(w http.ResponseWriter) error {
		for _, frame := range frames {
			if _, err := w.Write(frame); err != nil {
				return err
			}
		}
		return then
	}
}

const endlessObject = "with an object of 100 MB"

// spoils are the ways to corrupt a frame, which is the last of those passed.
var spoils = map[string]func(w http.ResponseWriter, frames [][]byte) error{
	"cut in the middle": func(w http.ResponseWriter, frames [][]byte) error {
		last := frames[spoiltFrame]
		return send(errSpoilt, last[:len(last)/2])(w)
	},
	"sent twice": func(w http.ResponseWriter, frames [][]byte) error {
		return send(nil, frames[spoiltFrame], frames[spoiltFrame])(w)
	},
	"after which the first comes again": func(w http.ResponseWriter, frames [][]byte) error {
		return send(nil, frames[spoiltFrame], frames[0])(w)
	},
	"after which the window is lost": func(w http.ResponseWriter, frames [][]byte) error {
		const lost = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}}`
		return send(errSpoilt, frames[spoiltFrame], []byte(lost+"\n"))(w)
	},
	"of another kind": func(w http.ResponseWriter, frames [][]byte) error {
		return send(nil, bytes.Replace(frames[spoiltFrame], []byte(`"kind":"Table"`), []byte(`"kind":"PodList"`), 1))(w)
	},
	endlessObject: func(w http.ResponseWriter, _ [][]byte) error {
		const begin, piece = `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","data":{"x":"`, 1 << 20
		if err := send(nil, []byte(begin))(w); err != nil {
			return err
		}
		for x := bytes.Repeat([]byte("x"), piece); ; {
			if err := send(nil, x)(w); err != nil {
				return err // the facade ended the watch: no real object is this large
			}
		}
	},
}

// A proxy corrupts a watch of a real kube-apiserver. The facade resumes the watch or lists again. Clients never receive
// a state that did not exist, and end with the current one.
func TestCorruptWatchStreamsAreRecovered(t *testing.T) {
	t.Parallel() // most of it is waiting
	forward := suite.Forward(t, suite.FacadeConfig(t, suite.Furnished(t)))
	for name, spoil := range spoils {
		t.Run(name, func(t *testing.T) {
			if name == endlessObject {
				settings.Long(t) // the limit of frames has a unit test
			}
			t.Parallel() // most of it is waiting
			s := suite.NewFixture(t, suite.Cluster(t))
			const objects = 5
			written := map[string]map[string]bool{} // versions, by name
			put := func(i int, value string) {
				name := fmt.Sprintf("o%d", i%objects)
				rv := s.Put(t, suite.ConfigMaps, name, "", value)
				if written[name] == nil {
					written[name] = map[string]bool{}
				}
				written[name][strconv.FormatUint(rv, 10)] = true
			}
			for i := range objects {
				put(i, "0")
			}
			g := newSpoilingProxy(t)
			var spoilt, begun atomic.Int32
			watches := func(w http.ResponseWriter, r *http.Request) (answered bool) {
				query := r.URL.Query()
				if !strings.HasSuffix(r.URL.Path, "/configmaps") || query.Get("watch") == "" || query.Get("sendInitialEvents") == "true" || query.Get("timeoutSeconds") == "3" {
					return false
				}
				answered = true
				defer func() {
					if reason := recover(); reason != nil && spoilt.Load() == 0 {
						panic(reason)
					} // else the stream ends here without an error
				}()
				begun.Add(1)
				forward.ServeHTTP(&spoiltStream{ResponseWriter: w, spoil: spoil, spoilt: &spoilt}, r)
				return answered
			}
			run := suite.LaunchFacade(t, g.kubeconfig)
			run.AwaitReady(t)
			informer := dynamicinformer.NewFilteredDynamicSharedInformerFactory(suite.NewClients(t, run.Config).Dynamic, 0, s.Namespace, nil).ForResource(suite.ConfigMaps).Informer()
			suite.StartInformer(t, informer)
			g.spoil.Store(&watches)
			asker, err := testkit.NewAsker(run.Config)
			if err != nil {
				t.Fatal(err)
			}
			path := suite.Collection(suite.ConfigMaps, s.Namespace) + "?resourceVersion=0"
			changes, cut := 0, time.Time{}
			testkit.Eventually(t, "a frame was corrupted", func() error {
				// The lane resumes its watch; a resumption that is cut off as well may become a list.
				if time.Since(cut) > 5*time.Second { //pace: connections are cut again and again
					g.server.CloseClientConnections()
					cut = time.Now()
				}
				changes++
				put(changes, strconv.Itoa(changes))
				if err := wasSo(asker.MustAsk(t, testkit.Question{Path: path}), written); err != nil {
					t.Fatal(err)
				}
				if spoilt.Load() == 0 {
					return fmt.Errorf("no frame was corrupted; %d watches have begun since, and there were %d changes", begun.Load(), changes)
				}
				return nil
			})
			lives(t, run)
			g.spoil.Store(nil)
			put(changes, "last")
			s.Converges(t, suite.ConfigMaps, informer)
			if err := wasSo(asker.MustAsk(t, testkit.Question{Path: path}), written); err != nil {
				t.Error(err)
			}
		})
	}
}

// wasSo checks that a list contains every object, each in a version that was written.
func wasSo(answer *testkit.Answer, written map[string]map[string]bool) error {
	var list struct {
		Items []struct {
			Metadata struct{ Name, ResourceVersion string }
		}
	}
	if answer.Code == http.StatusTooManyRequests || answer.Code == http.StatusServiceUnavailable {
		return nil // the lane is listed again
	}
	if err := json.Unmarshal(answer.Body, &list); err != nil || answer.Code != http.StatusOK {
		return fmt.Errorf("%d: %s (%w)", answer.Code, answer.Body, err)
	}
	there := map[string]bool{}
	for _, item := range list.Items {
		of := item.Metadata
		if versions, known := written[of.Name]; known && !versions[of.ResourceVersion] {
			return fmt.Errorf("got %s at resourceVersion %s, which was never written", of.Name, of.ResourceVersion)
		}
		there[of.Name] = true
	}
	for name := range written {
		if !there[name] {
			return fmt.Errorf("the list lacks %s", name)
		}
	}
	return nil
}
