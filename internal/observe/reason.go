package observe

// Reason is the reason why the upstream, and not the cache, answered a request.
type Reason string

// The reasons, as values of the label reason.
const (
	NotARead      Reason = "not_a_read"     // HEAD, a subresource, or a path without a resource
	Unreadable    Reason = "unreadable"     // the path cannot be parsed, or does not match the resource's scope
	Undiscovered  Reason = "undiscovered"   // the resource is not in discovery, or discovery cannot be read
	NotCached     Reason = "not_cached"     // the resource cannot be cached, or is excluded by --uncached-resources
	MediaType     Reason = "media_type"     // the client accepts only media types that the cache cannot produce
	Denied        Reason = "denied"         // the authorizer denied the request, and the upstream sends the refusal
	Refused       Reason = "refused"        // the upstream does not let the facade list and watch the resource
	NotReady      Reason = "not_ready"      // the lane is not synced or is too old, and the request is cheap
	NoMemory      Reason = "no_memory"      // there is not enough memory for the lane, and the request is cheap
	Unproven      Reason = "unproven"       // a freshness check failed, or would cost more than the response
	OutsideWindow Reason = "outside_window" // the requested resourceVersion is outside the lane's history
	// a list of one name at an exact resourceVersion, which kube-apiserver answers from etcd
	ReadFromEtcd Reason = "read_from_etcd"
	TooLargeYAML Reason = "large_yaml" // a YAML response that would have to be decoded completely in memory
	Unserved     Reason = "parameter"  // the cache does not support a query parameter
	OwnWords     Reason = "own_words"  // only kube-apiserver can produce the error message
	// a discovery or OpenAPI document that an aggregated API server serves, that has a rare format, or that is too large
	Document Reason = "document"
)
