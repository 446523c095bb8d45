package facade

import (
	"net"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/handlers"
	"github.com/listfacade/listfacade/internal/audit"
	"github.com/listfacade/listfacade/internal/observe"
)

// Config is every knob of the process, which is why it is long. Names follow kube-apiserver's.
type Config struct {
	// Kubeconfig is the file of the kube-apiserver to read; empty for the service account that a pod has. Context is
	// the one to use of it; empty for its current one.
	Kubeconfig, Context string
	// Upstream are https URLs of the kube-apiservers of one cluster, of which one is asked at a time; empty for the
	// server that the kubeconfig names.
	Upstream []string
	// WarmFrom are https URLs of facades of the same cluster, from which resources are read at the start; they are shown
	// the kubeconfig's credentials. WarmFromCAFile vouches for them; empty for the authorities of the kubeconfig.
	WarmFrom       []string
	WarmFromCAFile string
	// PeerWait is how long one of them may take to say how far it is; 0 is 5 s. It has no flag.
	PeerWait time.Duration

	Authentication Authentication
	Authorization  Authorization
	// Limits bind callers who are told apart; each of them is above 0.
	Limits handlers.Limits

	// BindAddress is where to listen, and Port 0 to 65535; 0 takes a free one.
	BindAddress net.IP
	Port        int
	// CertFile and KeyFile go together. Without them a self-signed pair is made: listfacade.crt and listfacade.key in
	// CertDir.
	CertFile, KeyFile, CertDir string
	// RequestTimeout, MinWatch and WriteTimeout are above 0: what a request may take that is no watch, the shortest
	// life of a watch that names none, what a client may take to accept a piece of an answer.
	RequestTimeout, MinWatch, WriteTimeout time.Duration
	// ShutdownDelay is how long the process serves on, but is not ready, after the end was asked for. WatchTermination is
	// over what time it ends watches then, and ShutdownGrace how long requests may go on after that; with 0 they are cut
	// off.
	ShutdownDelay, WatchTermination, ShutdownGrace time.Duration
	// SendRetryAfter refuses new requests while those under way go on, instead of closing the address.
	SendRetryAfter bool
	// GoawayChance is how likely, from 0 to 0.02, an HTTP/2 client is asked to come back on another connection.
	GoawayChance float64

	// Preload and Uncached are resources as in deployments.apps.
	Preload, Uncached []string
	// PreloadEncodings are json and protobuf, or one of them: what Preload is cached in, as far as a resource has it.
	PreloadEncodings []string
	// FieldIndexes are fields of built-in kinds, LabelIndexes keys of labels.
	FieldIndexes, LabelIndexes []string
	// HistoryWindow and HistoryBytes, both above 0, bound the events that are kept for each resource beyond those that
	// kube-apiserver would keep (cache.Options).
	HistoryWindow time.Duration
	HistoryBytes  int64
	// Resources are those for which something is different. They have no flag, but stand in a configuration file.
	Resources map[schema.GroupResource]Resource
	// Packing says which objects are kept compressed.
	Packing Packing
	// MemoryBudget is how much memory the process may take. Run finds out how much there is where it is OwnMemory, which
	// New takes for any amount.
	MemoryBudget MemoryBudget
	// MemoryMarks are where something is done about it. They have no flag.
	MemoryMarks MemoryMarks
	// PrecompressedMemory, not below 0, bounds the bytes of what is compressed ahead, of all resources together
	// (wire.Precompressed).
	PrecompressedMemory int64
	// LaneIdle is after how long a resource is dropped that nobody reads, MaxStaleness how long the cache is served
	// after the upstream was last heard; 0 means without end for both.
	LaneIdle, MaxStaleness time.Duration
	// ReplayLostWindows has watches go on when kube-apiserver has lost what followed, by what the next list has in another
	// way.
	ReplayLostWindows bool
	// AccountWatches has the metadata of built-in resources watched that nobody reads, while consistent reads need it.
	AccountWatches bool
	// SnapshotDir is a directory where what is cached is left at the end, for the next process; empty for nowhere.
	SnapshotDir string
	// SnapshotPeriod is how long that may take, after all of the shutdown's; 0 is as long as it takes.
	SnapshotPeriod time.Duration
	// SelfAuditInterval is in what time all that is cached is compared with kube-apiserver once; 0 is never.
	SelfAuditInterval time.Duration
	// SelfAuditShare is how many times as long as a page has taken kube-apiserver is left alone after it; 0 is 20. It has
	// no flag.
	SelfAuditShare int
	// PagedFrom, above 0, is how many objects a resource has at least to be read page by page at first, which is cheaper
	// for kube-apiserver than a streaming list of many and dearer than one of few. It has no flag.
	PagedFrom int
	// BookmarkInterval is above 0.
	BookmarkInterval time.Duration

	// Version is what the process says of itself; it has no flag.
	Version string
	// Flags are what /flagz shows, which is not served without them.
	Flags map[string]string
	// LogFormat is console or json; LogLevel is debug, info, warn or error.
	LogFormat, LogLevel string
	// SLIMetrics adds the histogram apiserver_request_sli_duration_seconds to the metrics.
	SLIMetrics bool
	// Slow is what the log has a line about; nothing is slow where it is 0.
	Slow observe.SlowLimits
	// Audit is what is written into the audit log, and where.
	Audit audit.Config
	// Level changes how much is logged; nil where nobody may. Run makes it, with the log.
	Level *observe.Level
	// DebugSocket is where profiles and the log's level are served to whoever may open it, a path; empty for nowhere.
	DebugSocket string
	// Profiling serves /debug/pprof to whoever may connect.
	Profiling bool
}

// Defaults are the knobs as they stand when nobody turns one.
func Defaults() Config {
	return Config{
		Authentication: defaultAuthentication(), Authorization: defaultAuthorization(), Limits: handlers.DefaultLimits(),
		BindAddress: net.IPv4(127, 0, 0, 1), Port: 6443, CertDir: "listfacade-certs",
		RequestTimeout: time.Minute, MinWatch: 30 * time.Minute, WriteTimeout: 20 * time.Second,
		// A rollout costs clients no failed read and no list (docs/adr/0031-drain-by-default.md).
		ShutdownDelay: 10 * time.Second, WatchTermination: 20 * time.Second, ShutdownGrace: 30 * time.Second, SnapshotPeriod: 20 * time.Second,
		GoawayChance: 0.001,
		Uncached:     []string{"secrets"}, PreloadEncodings: []string{"json"},
		// Agents on every node read what is theirs; kube-apiserver has the same index.
		FieldIndexes:  []string{"spec.nodeName"},
		HistoryWindow: 10 * time.Minute, HistoryBytes: 256 << 20, Packing: Packing(cache.DefaultPacking), PrecompressedMemory: 256 << 20, LaneIdle: 30 * time.Minute, MaxStaleness: time.Minute,
		MemoryBudget: OwnMemory, MemoryMarks: defaultMemoryMarks(),
		SelfAuditInterval: 6 * time.Hour, ReplayLostWindows: true, AccountWatches: true,
		PagedFrom: 50, BookmarkInterval: time.Minute, LogFormat: "console", LogLevel: "info",
		Slow:  observe.SlowLimits{Request: 500 * time.Millisecond, WatchLag: 5 * time.Second},
		Audit: audit.DefaultConfig(),
	}
}
