#!/usr/bin/env bash
# Starts a real cluster with a few objects and the facade in front of it, and prints commands to try. Ctrl-C stops all
# processes.
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
bin/devcluster up --module-dir devcluster --demo --json --dir "$dir/cluster" >"$dir/info.json" 2>"$dir/cluster.log" &
cluster=$!
pids+=("$cluster")
until grep -qs '"kubeconfigs"' "$dir/info.json"; do
	kill -0 "$cluster" 2>/dev/null || { cat "$dir/cluster.log"; exit 1; }
	sleep 0.2
done

# field NAME prints the first string field of that name in the cluster's JSON description.
field() { grep -o "\"$1\": *\"[^\"]*\"" "$dir/info.json" | head -n 1 | cut -d '"' -f 4; }
kubectl=$(field kubectl)
server=$(field server)
users=$dir/cluster/kubeconfigs
# The facade's serving certificate is from the cluster's own authority, so users' kubeconfigs work with both servers.
serving=$dir/cluster/pki/serving
bin/listfacade --kubeconfig "$users/listfacade.kubeconfig" --secure-port "$port" --preload pods,nodes,events --shutdown-delay-duration 0 \
	--tls-cert-file "$serving.crt" --tls-private-key-file "$serving.key" >"$dir/listfacade.log" 2>&1 &
facade=$!
pids+=("$facade")
for user in reader alice; do
	sed "s#$server#https://127.0.0.1:$port#" "$users/$user.kubeconfig" >"$dir/$user.kubeconfig"
done
try() { "$kubectl" --kubeconfig "$dir/reader.kubeconfig" "$@"; }
echo "Starting the facade and waiting for Running pods ..."
until try get pods -A --field-selector status.phase=Running -o name 2>/dev/null | grep -q pod; do
	kill -0 "$facade" 2>/dev/null || { cat "$dir/listfacade.log"; exit 1; }
	sleep 0.5
done

# A browser sends no bearer token. kubectl proxy adds it, for the operator's page and the other endpoints of operators.
"$kubectl" --kubeconfig "$users/admin.kubeconfig" apply -f deploy/kubernetes/base/operator.yaml >>"$dir/cluster.log"
"$kubectl" --kubeconfig "$users/admin.kubeconfig" create clusterrolebinding listfacade-operator \
	--clusterrole listfacade-operator --user reader >>"$dir/cluster.log"
"$kubectl" --kubeconfig "$dir/reader.kubeconfig" proxy --port "${PAGE_PORT:-0}" \
	--accept-paths '^/(debug/.*|statusz|flagz|metrics)$' >"$dir/proxy.log" 2>&1 &
pids+=("$!")
until page=$(grep -so '127\.0\.0\.1:[0-9]*' "$dir/proxy.log"); do
	kill -0 "${pids[-1]}" 2>/dev/null || { cat "$dir/proxy.log"; exit 1; }
	sleep 0.1
done

cat <<EOF

The operator's page: http://$page/debug/status

The facade is ready. User reader can read everything except Secrets. User alice can read the namespace team-a. Try these
commands in another terminal:

  cd $dir
  alias k=$kubectl
  k --kubeconfig reader.kubeconfig get pods -A --watch
  k --kubeconfig reader.kubeconfig describe node node-0
  k --kubeconfig reader.kubeconfig auth whoami
  k --kubeconfig alice.kubeconfig get deployments,configmaps -n team-a
  k --kubeconfig alice.kubeconfig get pods -A
  k --kubeconfig alice.kubeconfig auth can-i list secrets -n team-a

The kubeconfigs in $users connect to kube-apiserver directly. That of admin can write.
Logs: $dir/listfacade.log and $dir/cluster.log. Ctrl-C stops everything.
EOF
wait -n "$cluster" "$facade"
echo "One of the processes ended. The last lines of their logs:"
tail -n 5 "$dir/cluster.log" "$dir/listfacade.log"
exit 1
