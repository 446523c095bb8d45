package devcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/listfacade/listfacade/devcluster/internal/process"
)

// stopWithin is the timeout for a graceful stop. After SIGTERM, kube-apiserver keeps watches open for up to 60 seconds.
const stopWithin = 90 * time.Second

// maxSocketPath is the maximum length of a unix socket's path in bytes. The limit of macOS, 104 with the terminator, is
// lower than that of Linux.
const maxSocketPath = 103

// ErrUnknown is returned for an unknown process or action.
var ErrUnknown = errors.New("unknown")

// Actions of Do.
const (
	Kill     = "kill"     // SIGKILL
	Stop     = "stop"     // SIGTERM, and SIGKILL after 90 seconds
	Run      = "start"    // a start with the same arguments and port, and a wait until the server is ready
	Restart  = "restart"  // Stop and Run
	Pause    = "pause"    // SIGSTOP
	Continue = "continue" // SIGCONT
)

// Do performs an action, such as Kill, on one server. Its errors include ErrUnknown, and *process.StateError if the
// server's state does not allow the action.
func (c *Cluster) Do(ctx context.Context, name, action string) error {
	p, ok := c.processes[name]
	if !ok {
		return fmt.Errorf("%w: process %q", ErrUnknown, name)
	}
	switch action {
	case Kill:
		return p.Kill()
	case Stop:
		return stop(ctx, p)
	case Run:
		return p.Start(ctx)
	case Restart:
		if err := stop(ctx, p); err != nil {
			return err
		}
		return p.Start(ctx)
	case Pause:
		return p.Pause()
	case Continue:
		return p.Continue()
	default:
		return fmt.Errorf("%w: action %q", ErrUnknown, action)
	}
}

func stop(ctx context.Context, p *process.Process) error {
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	return p.Stop(ctx)
}

// Compact compacts etcd's history at the current revision, and returns that revision.
func (c *Cluster) Compact(ctx context.Context) (int64, error) { return c.etcd.compact(ctx) }

type control struct {
	path   string
	server *http.Server
	served chan error
}

func serveControl(c *Cluster) (*control, error) {
	path := c.path("control.sock")
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("%s: the path of the control socket has more than %d bytes; choose a shorter directory", path,
			maxSocketPath)
	}
	// A cluster that was killed may have left its socket in this directory. No process serves the socket, because this
	// cluster's etcd already has the lock of the data directory.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove old control socket: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open control socket: %w", err)
	}
	s := &control{
		path:   path,
		server: &http.Server{Handler: c.routes(), ReadHeaderTimeout: 10 * time.Second},
		served: make(chan error, 1),
	}
	go func() { s.served <- s.server.Serve(listener) }()
	return s, nil
}

func (s *control) close() error {
	err := s.server.Close()
	if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

func (c *Cluster) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /processes", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, c.Processes(), nil)
	})
	mux.HandleFunc("POST /processes/{name}/{action}", func(w http.ResponseWriter, r *http.Request) {
		err := c.Do(r.Context(), r.PathValue("name"), r.PathValue("action"))
		answer(w, c.Processes(), err)
	})
	mux.HandleFunc("POST /compact", func(w http.ResponseWriter, r *http.Request) {
		revision, err := c.Compact(r.Context())
		answer(w, map[string]int64{"revision": revision}, err)
	})
	return mux
}

func answer(w http.ResponseWriter, result any, err error) {
	var state *process.StateError
	switch {
	case err == nil:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(result) // fails only when the client has disconnected
	case errors.Is(err, ErrUnknown):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.As(err, &state):
		http.Error(w, err.Error(), http.StatusConflict)
	default:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
