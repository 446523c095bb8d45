package references

// foreignFlags maps flags of other programs to the program.
var foreignFlags = map[string]string{
	"authorization-config":                         "kube-apiserver",
	"authorization-mode":                           "kube-apiserver",
	"authorization-webhook-config-file":            "kube-apiserver",
	"authorization-webhook-version":                "kube-apiserver",
	"authorization-webhook-cache-authorized-ttl":   "kube-apiserver",
	"authorization-webhook-cache-unauthorized-ttl": "kube-apiserver",
	"as":                              "kubectl auth can-i",
	"cacert":                          "curl",
	"connect-to":                      "curl",
	"previous":                        "kubectl logs",
	"cluster":                         "kubectl",
	"cert":                            "kubectl create secret tls",
	"type":                            "kubectl create secret generic",
	"from-file":                       "kubectl create secret generic",
	"server-side":                     "kubectl apply",
	"create-namespace":                "helm",
	"values":                          "helm",
	"namespace":                       "helm",
	"certificate-authority":           "kubectl",
	"clusterrole":                     "kubectl",
	"group":                           "kubectl",
	"tls-server-name":                 "kubectl",
	"accept-paths":                    "kubectl",
	"port":                            "kubectl",
	"raw":                             "kubectl",
	"readonly":                        "k9s",
	"resources":                       "kube-state-metrics",
	"server":                          "kubectl",
	"shard":                           "kube-state-metrics",
	"unix-socket":                     "curl",
	"watch":                           "kubectl get",
	"etcd-compaction-interval":        "kube-apiserver",
	"etcd-servers-overrides":          "kube-apiserver",
	"watch-progress-notify-interval":  "etcd",
	"omit-lockfile-registry-resolved": "npm",
}

// foreignFiles maps names that only look like files of this repository to their meaning.
var foreignFiles = map[string]string{
	"NNNN-title.md": "the pattern of a decision's file name",
	"install.yaml":  "a file of a release",
}

// foreignPaths is the document that names files of Kubernetes and etcd by abbreviations that it explains. In it, only
// names that begin with a directory of the root are checked.
const foreignPaths = semantics
