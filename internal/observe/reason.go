package observe

// Reason says why the upstream answered a request, and not the cache.
type Reason string

// The reasons, each the value of a label.
const (
	NotARead      Reason = "not_a_read"     // HEAD, a subresource, a path that is no resource's
	Unreadable    Reason = "unreadable"     // a path that cannot be read, or does not fit the resource's scope
	Undiscovered  Reason = "undiscovered"   // discovery does not know the resource, or cannot be read
	NotCached     Reason = "not_cached"     // the operator, or the resource's nature, keeps it out of the cache
	MediaType     Reason = "media_type"     // a form of the answer that the cache does not give
	Denied        Reason = "denied"         // the authorizer did not allow it; the upstream words the refusal
	Refused       Reason = "refused"        // the upstream does not let the facade list and watch the resource
	NotReady      Reason = "not_ready"      // the lane is not synced, and the answer is cheap for the upstream
	NoMemory      Reason = "no_memory"      // there is no memory for the lane, and the answer is cheap for the upstream
	Unproven      Reason = "unproven"       // the cache could not be proven fresh, or not for less than the answer costs
	OutsideWindow Reason = "outside_window" // a version that the lane's history does not reach
	ReadFromEtcd  Reason = "read_from_etcd" // kube-apiserver reads it from etcd, in words and forms of its own
	TooLargeYAML  Reason = "large_yaml"     // it would have to be decoded as a whole
	Unserved      Reason = "parameter"      // a query parameter that the cache does not honour
	OwnWords      Reason = "own_words"      // an error whose text only kube-apiserver knows
	Document      Reason = "document"       // discovery or OpenAPI: another server's, asked in a rare way, or too large
)
