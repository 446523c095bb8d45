#!/usr/bin/env bash
# Starts a real cluster with a few objects, the facade in front of it, and says what to try. Ctrl-C ends everything.
set -euo pipefail
cd "$(dirname "$0")/../.."

dir=$(mktemp -d -t listfacade-run.XXXXXX)
port=${PORT:-6443}
pids=()

finish() {
	trap - EXIT INT TERM
	((${#pids[@]})) && kill "${pids[@]}" 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

echo "Starting etcd, kube-apiserver, controllers and kwok nodes ..."
bin/devcluster up --module-dir devcluster --demo --dir "$dir/cluster" >"$dir/cluster.log" 2>&1 &
cluster=$!
pids+=("$cluster")
until grep -q '"kubeconfigs"' "$dir/cluster/info.json" 2>/dev/null; do
	kill -0 "$cluster" 2>/dev/null || { cat "$dir/cluster.log"; exit 1; }
	sleep 0.2
done

bin/listfacade --kubeconfig "$dir/cluster/kubeconfigs/admin.kubeconfig" --secure-port "$port" --cert-dir "$dir/facade" \
	--preload pods,nodes,events >"$dir/listfacade.log" 2>&1 &
facade=$!
pids+=("$facade")
kubectl=$(sed -n 's/.*"kubectl": *"\([^"]*\)".*/\1/p' "$dir/cluster/info.json")
try() { KUBECONFIG="" "$kubectl" --server "https://127.0.0.1:$port" --certificate-authority "$dir/facade/listfacade.crt" "$@"; }
until try get --raw /readyz >/dev/null 2>&1; do
	kill -0 "$facade" 2>/dev/null || { cat "$dir/listfacade.log"; exit 1; }
	sleep 0.2
done

cat <<EOF

The facade is ready. The same cluster, through the facade:

  KUBECONFIG= $kubectl --server https://127.0.0.1:$port --certificate-authority $dir/facade/listfacade.crt get pods -A

and directly:

  $kubectl --kubeconfig $dir/cluster/kubeconfigs/admin.kubeconfig get pods -A

Logs: $dir/cluster.log and $dir/listfacade.log. Ctrl-C ends everything.
EOF
wait -n "$cluster" "$facade"
echo "one of the processes ended; the last of their logs:"
tail -n 5 "$dir/cluster.log" "$dir/listfacade.log"
exit 1
