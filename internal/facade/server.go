package facade

import (
	"crypto/tls"
	"net/http"
	"net/http/pprof"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/frames"
)

// NewServer returns a server with kube-apiserver's limits for connections. Some limits are lower, because clients need
// much less.
func NewServer(tlsConfig *tls.Config, handler http.Handler, log *zap.Logger) (*http.Server, error) {
	server := &http.Server{
		Handler: handler, TLSConfig: tlsConfig, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 90 * time.Second,
		MaxHeaderBytes: 128 << 10, ErrorLog: newServerLog(log),
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 100, SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
	return server, frames.ConfigureServer(server)
}

func profiles(c Config) http.Handler {
	if !c.Profiling {
		return nil
	}
	mux := http.NewServeMux()
	addProfiles(mux)
	return mux
}

func addProfiles(mux *http.ServeMux) {
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
}
