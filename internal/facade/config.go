package facade

import (
	"net"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/handlers"
	"github.com/listfacade/listfacade/internal/audit"
	"github.com/listfacade/listfacade/internal/oplog"
)

// Config contains every setting of the process. Its names are like those of kube-apiserver's flags.
type Config struct {
	// Kubeconfig is the kubeconfig file of the kube-apiserver to read; empty for the pod's service account. Context is
	// the name of a context in the file; empty for its current context.
	Kubeconfig, Context string
	// Upstream are https URLs of the kube-apiservers of one cluster; empty for the kubeconfig's server. One of them is
	// used at a time.
	Upstream []string
	// WarmFrom are https URLs of facades of the same cluster, from which lanes are filled. These facades receive the
	// kubeconfig's credentials. WarmFromCAFile is the bundle of authorities that signed their certificates; empty for
	// the kubeconfig's authorities.
	WarmFrom       []string
	WarmFromCAFile string
	// PeerWait bounds the time for a peer to report its resourceVersion; 0 means 5 s. It has no flag.
	PeerWait time.Duration

	Authentication Authentication
	Authorization  Authorization
	// Limits apply to authenticated callers. Each limit is above 0.
	Limits handlers.Limits

	// BindAddress is the address to listen on. Port is 0 to 65535; 0 takes a free port.
	BindAddress net.IP
	Port        int
	// CertFile and KeyFile must be set together. Without them and without SharedAuthority, the process creates a
	// self-signed pair in CertDir: listfacade.crt and listfacade.key.
	CertFile, KeyFile, CertDir string
	// SharedAuthority is the NAMESPACE/NAME of a Secret and a ConfigMap. Run loads the Authority from them. If empty,
	// the serving certificate does not come from an authority.
	SharedAuthority string
	Authority       *Authority
	// RequestTimeout bounds requests other than watches. MinWatch is the minimum lifetime of a watch that requests no
	// timeout. WriteTimeout bounds the time in which a client must accept a piece of a response. All are above 0.
	RequestTimeout, MinWatch, WriteTimeout time.Duration
	// ShutdownDelay is how long the process continues to serve after a termination signal, while it is not ready. After
	// that, watches end one by one over the period WatchTermination. ShutdownGrace is how long other requests may then
	// continue; 0 cuts them off.
	ShutdownDelay, WatchTermination, ShutdownGrace time.Duration
	// If SendRetryAfter is true, the listener stays open during the shutdown, and new requests are refused with
	// Retry-After.
	SendRetryAfter bool
	// GoawayChance is the probability, from 0 to 0.02, that an HTTP/2 client receives GOAWAY and reconnects.
	GoawayChance float64

	// Preload and Uncached are names of resources, such as deployments.apps.
	Preload, Uncached []string
	// PreloadEncodings are the encodings in which resources in Preload are cached: json and protobuf, or one of them.
	// An encoding that a resource does not have is skipped.
	PreloadEncodings []string
	// FieldIndexes are fields of built-in kinds, and LabelIndexes are label keys.
	FieldIndexes, LabelIndexes []string
	// HistoryWindow and HistoryBytes bound the events that are kept for each resource in addition to those that
	// kube-apiserver would keep (cache.Options). Both are above 0.
	HistoryWindow time.Duration
	HistoryBytes  int64
	// Resources are settings of single resources, from a configuration file. They have no flag.
	Resources map[schema.GroupResource]Resource
	// Packing selects the objects that are stored compressed.
	Packing Packing
	// MemoryBudget is the memory that the process may use. Run replaces OwnMemory by the detected limit. For New,
	// OwnMemory means no limit.
	MemoryBudget MemoryBudget
	// MemoryMarks are the shares of the budget above which memory is freed or refused. They have no flag.
	MemoryMarks MemoryMarks
	// PrecompressedMemory bounds the precompressed pages of all resources together, in bytes (wire.Precompressed). It is
	// not below 0.
	PrecompressedMemory int64
	// LaneIdle is how long a resource without readers stays cached. MaxStaleness is how long the cache is served
	// without a response from the upstream. 0 means no limit in both cases.
	LaneIdle, MaxStaleness time.Duration
	// If ReplayLostWindows is true, watches continue after kube-apiserver has lost events. They then receive the
	// differences between the cache and the next list.
	ReplayLostWindows bool
	// If AccountWatches is true, the metadata of built-in resources without a lane is watched while consistent reads
	// need it.
	AccountWatches bool
	// JournalDir is the directory of the journal, which the next process reads; empty for no journal. JournalMaxAge and
	// JournalMaxBytes limit the journal; 0 means no limit.
	JournalDir      string
	JournalMaxAge   time.Duration
	JournalMaxBytes Size
	// ShardSelectors is auto, always or never: whether the cache serves lists and watches of shards (KEP-5866). With
	// auto, the cache serves them while the upstream applies shard selectors.
	ShardSelectors string
	// SelfAuditInterval is the time in which the self-audit compares each lane once with kube-apiserver; 0 disables it.
	SelfAuditInterval time.Duration
	// SelfAuditShare is the pause after a page of the self-audit, as a multiple of the page's duration; 0 means 20. It
	// has no flag.
	SelfAuditShare int
	// PagedFrom is the minimum number of objects for which a lane is filled by limit and continue; it is above 0. For
	// fewer objects, a streaming list costs kube-apiserver less. It has no flag.
	PagedFrom int
	// BookmarkInterval is the time between the bookmarks of a watch; it is above 0.
	BookmarkInterval time.Duration

	// Version is the version that the process reports. Repository is the URL of the repository's files, to which the
	// operator's page links; empty if it is unknown. They have no flags.
	Version, Repository string
	// Flags are the values that /flagz shows. If nil, /flagz is not served.
	Flags map[string]string
	// LogFormat is console or json. LogLevel is debug, info, warn or error.
	LogFormat, LogLevel string
	// If SLIMetrics is true, the histogram apiserver_request_sli_duration_seconds is part of the metrics.
	SLIMetrics bool
	// Slow are the thresholds above which requests and watches are logged as slow. A threshold of 0 is disabled.
	Slow oplog.SlowLimits
	// Audit configures the audit log.
	Audit audit.Config
	// Level changes the log level at runtime. Run sets it when it creates the log. If nil, the level cannot be changed.
	Level *oplog.Level
	// DebugSocket is the path of a unix socket that serves profiles, reports and the log level; empty for no socket.
	// Only the process's own user can open it.
	DebugSocket string
	// If Profiling is true, /debug/pprof is served over HTTPS.
	Profiling bool
}

// Defaults returns the default settings.
func Defaults() Config {
	return Config{
		Authentication: defaultAuthentication(), Authorization: defaultAuthorization(), Limits: handlers.DefaultLimits(),
		BindAddress: net.IPv4(127, 0, 0, 1), Port: 6443, CertDir: "listfacade-certs",
		RequestTimeout: time.Minute, MinWatch: 30 * time.Minute, WriteTimeout: 20 * time.Second,
		// With these values, a rollout of the facade causes no failed read and no new list in clients
		// (docs/adr/0031-drain-by-default.md).
		ShutdownDelay: 10 * time.Second, WatchTermination: 20 * time.Second, ShutdownGrace: 30 * time.Second,
		JournalMaxAge: 24 * time.Hour, JournalMaxBytes: 10 << 30,
		GoawayChance: 0.001,
		Uncached:     []string{"secrets"}, PreloadEncodings: []string{"json"},
		// Agents on each node read the pods of their node. kube-apiserver has the same index.
		FieldIndexes:  []string{"spec.nodeName"},
		HistoryWindow: 10 * time.Minute, HistoryBytes: 512 << 20, Packing: Packing(cache.DefaultPacking),
		PrecompressedMemory: 256 << 20, LaneIdle: 30 * time.Minute, MaxStaleness: time.Minute,
		MemoryBudget: OwnMemory, MemoryMarks: defaultMemoryMarks(),
		SelfAuditInterval: 6 * time.Hour, ReplayLostWindows: true, AccountWatches: true, ShardSelectors: "auto",
		PagedFrom: 50, BookmarkInterval: time.Minute, LogFormat: "console", LogLevel: "info",
		Slow:  oplog.SlowLimits{Request: 500 * time.Millisecond, WatchLag: 5 * time.Second},
		Audit: audit.DefaultConfig(),
	}
}
