package deploy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// kube-controller-manager and kube-scheduler use only HAProxy's address, with service accounts. They create the pods of
// a Deployment, assign nodes, and delete the pods. The facade serves all of their watches.
func TestControlPlaneThroughHAProxy(t *testing.T) {
	settings.Long(t)
	own, err := testkit.StartCluster(t.Context(), "--components="+suite.ControllerManager+","+suite.Scheduler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	applyManifests(t, own)
	suite.StopComponents(t, own)
	watched := []string{"pods", "nodes", "replicasets"}
	itself := watchesServed(t, own, watched...)
	s := splitBefore(t, own)
	s.startComponent(t, suite.ControllerManager, controllers(t, own), "--use-service-account-credentials=false",
		"--root-ca-file="+own.CAFile, "--node-monitor-grace-period=10m") // no kubelet renews the node's lease
	s.startComponent(t, suite.Scheduler, []string{"system:kube-scheduler", "system:volume-scheduler"})
	addNode(t, own, "only")
	s.deployAndDelete(t, suite.NewFixture(t, own).Namespace)
	for _, name := range watched {
		s.watchedByFacade(t, name, itself[name])
	}
}

// controllers are the roles of kube-controller-manager when all controllers use one account.
func controllers(t *testing.T, own *testkit.Cluster) []string {
	t.Helper()
	roles, err := administrator(t, own).RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"system:kube-controller-manager"}
	for _, role := range roles.Items {
		if strings.HasPrefix(role.Name, "system:controller:") {
			all = append(all, role.Name)
		}
	}
	return all
}

// startComponent starts a component with a service account of its name and the roles. It sends all requests to HAProxy,
// also its reviews of callers.
func (s *split) startComponent(t *testing.T, name string, roles []string, flags ...string) {
	t.Helper()
	config := s.cluster.ConfigWithToken(s.cluster.Token(t, metav1.NamespaceSystem, name, testkit.TokenOptions{}))
	config.Host = s.url
	grant(t, s.cluster, name, slices.Concat(roles, []string{"system:auth-delegator"}))
	kubeconfig := testkit.WriteKubeconfig(t, config)
	suite.StartComponent(t, s.cluster, name, append([]string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
	}, flags...)...)
}

// grant binds a service account of kube-system to ClusterRoles, and allows it to read the published authorities.
func grant(t *testing.T, own *testkit.Cluster, account string, roles []string) {
	t.Helper()
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: account}}
	const authorities = "extension-apiserver-authentication"
	rbac := administrator(t, own).RbacV1()
	_, err := rbac.RoleBindings(metav1.NamespaceSystem).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account + ":reads-authorities"}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: authorities + "-reader"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range roles {
		_, err := rbac.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: account + ":" + role}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	user := "system:serviceaccount:" + metav1.NamespaceSystem + ":" + account
	awaitRight(t, own, user, true, creating("authorization.k8s.io", "subjectaccessreviews"))
	awaitRight(t, own, user, true, authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Verb: "get", Namespace: metav1.NamespaceSystem, Resource: "configmaps", Name: authorities,
	}})
}

// addNode creates a ready node, as its kubelet would.
func addNode(t *testing.T, own *testkit.Cluster, name string) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()}},
		Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110"),
		},
	}}
	node.Status.Capacity = node.Status.Allocatable
	if _, err := administrator(t, own).CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// deployAndDelete creates and deletes a Deployment through HAProxy, and waits for the control plane.
func (s *split) deployAndDelete(t *testing.T, namespace string) {
	t.Helper()
	const replicas = 3
	config := rest.CopyConfig(readerToken(t, s.cluster))
	config.Host = s.url
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	deployments := clients.AppsV1().Deployments(namespace)
	if _, err := deployments.Create(t.Context(), suite.NewDeployment("web", replicas), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitOwned(t, clients, namespace, owned{ReplicaSets: 1, Scheduled: replicas})
	if err := deployments.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitOwned(t, clients, namespace, owned{})
}

// owned counts the objects of a Deployment in a namespace. Pods with a node are Scheduled.
type owned struct{ ReplicaSets, Scheduled, Unscheduled int }

func awaitOwned(t *testing.T, clients kubernetes.Interface, namespace string, want owned) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("there are %+v", want), func() error {
		sets, err := clients.AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		pods, err := clients.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		got := owned{ReplicaSets: len(sets.Items)}
		for _, pod := range pods.Items {
			if pod.Spec.NodeName != "" {
				got.Scheduled++
			} else {
				got.Unscheduled++
			}
		}
		if got != want {
			return fmt.Errorf("there are %+v", got)
		}
		return nil
	})
}

// watchedByFacade waits until both components watch a resource at the facade, and kube-apiserver serves only its own
// watches and one per encoding of the facade. The facade's progress watches are also watches, of a few seconds.
func (s *split) watchedByFacade(t *testing.T, name string, itself int) {
	t.Helper()
	testkit.Eventually(t, "the facade alone watches "+name, func() error {
		lanes := 0
		for _, lane := range s.facade.Lanes() {
			if lane.Resource == name {
				lanes++
			}
		}
		watchers, open := s.facade.Watchers(name), watchesServed(t, s.cluster, name)[name]
		if watchers < 2 || open > itself+lanes {
			return fmt.Errorf("kube-apiserver serves %d watches, %d to itself and %d to the facade, which serves %d", open, itself, lanes, watchers)
		}
		return nil
	})
}

// watchesServed returns the number of watches that kube-apiserver serves, including those of its own informers.
func watchesServed(t *testing.T, own *testkit.Cluster, resources ...string) map[string]int {
	t.Helper()
	metrics, err := administrator(t, own).Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]int{}
	for line := range strings.Lines(string(metrics)) {
		if !strings.HasPrefix(line, "apiserver_longrunning_requests{") || !strings.Contains(line, `verb="WATCH"`) {
			continue
		}
		for _, name := range resources {
			if strings.Contains(line, fmt.Sprintf("resource=%q,", name)) {
				n, err := strconv.Atoi(strings.TrimSpace(line[strings.LastIndex(line, " "):]))
				if err != nil {
					t.Fatal(err)
				}
				open[name] += n
			}
		}
	}
	return open
}
