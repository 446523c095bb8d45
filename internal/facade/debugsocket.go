package facade

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/listfacade/listfacade/handlers"
	"github.com/listfacade/listfacade/internal/page"
)

// debugSocket serves profiles, the log level, metrics, reports and the operator's page at a unix socket. Only the
// process's own user can open it. Callers are not authenticated, so it also works while the upstream does not answer
// reviews. It shows no cached object.
type debugSocket struct {
	path     string
	listener net.Listener
	// made is the file information of the socket. It shows whether another process has replaced the socket.
	made   fs.FileInfo
	server *http.Server
}

// listenDebug creates the socket, or returns nil if none is configured. It replaces a socket on which no process
// listens. It fails if the socket is in use, or if the path is another kind of file.
func (f *Facade) listenDebug() (*debugSocket, error) {
	c := f.config
	if c.DebugSocket == "" {
		return nil, nil
	}
	if err := removeStale(c.DebugSocket); err != nil {
		return nil, fmt.Errorf("--debug-socket-path: %w", err)
	}
	s := &debugSocket{path: c.DebugSocket,
		server: &http.Server{Handler: f.debugRoutes(), ReadHeaderTimeout: 10 * time.Second}}
	if err := s.listen(); err != nil {
		return nil, fmt.Errorf("--debug-socket-path: %w", err)
	}
	return s, nil
}

func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s exists and is not a socket", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	switch {
	case err == nil:
		_ = conn.Close()
		return fmt.Errorf("%s is in use by another process", path)
	case !errors.Is(err, syscall.ECONNREFUSED): // the socket may be in use
		return err
	}
	return os.Remove(path)
}

// listen creates the socket in a private directory, sets its mode and moves it to its path. Otherwise, other users
// could open the socket before its mode is set.
func (s *debugSocket) listen() error {
	dir, err := os.MkdirTemp(filepath.Dir(s.path), ".")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	made := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", made)
	if err != nil {
		return err
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // the path changes below
	if err = os.Chmod(made, 0o600); err == nil {
		err = os.Rename(made, s.path)
	}
	if err == nil {
		s.made, err = os.Lstat(s.path)
	}
	if err != nil {
		_ = listener.Close()
		return err
	}
	s.listener = listener
	return nil
}

func (s *debugSocket) run(ctx context.Context) error {
	if s == nil {
		return nil
	}
	defer s.remove()
	stop := context.AfterFunc(ctx, func() { _ = s.server.Close() }) // cuts off a profile in progress
	defer stop()
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve --debug-socket-path: %w", err)
	}
	return nil
}

// remove removes the socket, unless another process has replaced it.
func (s *debugSocket) remove() {
	if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.made) {
		_ = os.Remove(s.path)
	}
}

func (f *Facade) debugRoutes() http.Handler {
	mux := http.NewServeMux()
	addProfiles(mux)
	f.addReports(mux)
	// This path is not served over HTTPS, because users who may take profiles need not see the command line.
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.Handle(page.Path, handlers.PageHandler(f.page))
	mux.Handle(page.Path+"/", handlers.PageHandler(f.page))
	if level := f.config.Level; level != nil {
		mux.Handle("/debug/", level.Handler("the debug socket"))
	}
	return mux
}
