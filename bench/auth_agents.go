package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/net/http2/hpack"
	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/listfacade/listfacade/bench/internal/agents"
	"github.com/listfacade/listfacade/bench/internal/report"
)

const (
	agentPods = 1000
	// agentAccount is the service account of all agents, in the namespace default, and the name of its binding.
	agentAccount = "bench-agent"
	agentPreload = "pods,services,configmaps,namespaces,endpointslices.discovery.k8s.io"
	// agentsWithin is the timeout until all watches are open, and agentsEnd the timeout until all have ended.
	agentsWithin = 4 * time.Minute
	agentsEnd    = 90 * time.Second
)

// agentSet is the clients of one set of pods. Each client has its own connection to each server. On each connection it
// lists and watches five resources at once.
type agentSet struct {
	direct, facade *agents.Fleet
	watches        int64
}

// measureAgents adds the cost of 1,000 agents. Each agent has a token that is bound to its pod. When all agents have
// watched for a minute, measureAgents deletes the pods. A second set of agents watches until measureAgents deletes the
// binding of the agents' account.
func measureAgents(ctx context.Context, s *stage, t *table) error {
	admin, err := administrator(s.cluster)
	if err != nil {
		return err
	}
	if err := admit(ctx, admin); err != nil {
		return err
	}
	f, err := s.withDefaults(ctx, "--preload", agentPreload)
	if err != nil {
		return err
	}
	defer f.stop()
	if err := s.agentsLosePods(ctx, f.server, admin, t); err != nil {
		return err
	}
	return s.agentsLoseBinding(ctx, f.server, admin, t)
}

func (s *stage) agentsLosePods(ctx context.Context, facade *server, admin kubernetes.Interface, t *table) error {
	set, err := s.newAgents(ctx, facade, admin)
	if err != nil {
		return err
	}
	direct, err := set.open(ctx, set.direct, s.direct.name)
	if err != nil {
		return err
	}
	defer set.direct.Close()
	before, err := s.direct.reviewed(ctx)
	if err != nil {
		return err
	}
	took, err := set.open(ctx, set.facade, facade.name)
	if err != nil {
		return err
	}
	defer set.facade.Close()
	opened, err := s.direct.reviewed(ctx)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d agents, 5 lists and watches each", agentPods)
	t.addDurations(what+": until all watches are open", direct, took)
	t.add(what+": refused", set.direct.Refusals(), set.facade.Refusals(), "")
	t.add(what+": failed connections", set.direct.Failures(), set.facade.Failures(), "")
	opened.since(before).add(t, what, took)
	select {
	case <-time.After(steadyFor):
	case <-ctx.Done():
	}
	later, err := s.direct.reviewed(ctx)
	if err != nil {
		return err
	}
	t.add(what+": open a minute later", fmt.Sprint(set.direct.Counts().Watching), fmt.Sprint(set.facade.Counts().Watching),
		"")
	later.since(opened).add(t, what+", a minute later", steadyFor)
	return set.end(ctx, t, "their pods are deleted", func() error { return deletePods(ctx, admin) })
}

func (s *stage) agentsLoseBinding(ctx context.Context, facade *server, admin kubernetes.Interface, t *table) error {
	set, err := s.newAgents(ctx, facade, admin)
	if err != nil {
		return err
	}
	for _, one := range []struct {
		fleet *agents.Fleet
		of    string
	}{{set.direct, s.direct.name}, {set.facade, facade.name}} {
		if _, err := set.open(ctx, one.fleet, one.of); err != nil {
			return err
		}
		defer one.fleet.Close()
	}
	err = set.end(ctx, t, "their binding is deleted", func() error {
		return admin.RbacV1().ClusterRoleBindings().Delete(ctx, agentAccount, metav1.DeleteOptions{})
	})
	return errors.Join(err, deletePods(ctx, admin))
}

// newAgents creates pods with tokens, and clients that are not connected yet.
func (s *stage) newAgents(ctx context.Context, facade *server, admin kubernetes.Interface) (*agentSet, error) {
	say("creating %d pods with tokens", agentPods)
	if err := bindAgents(ctx, admin); err != nil {
		return nil, err
	}
	tokens := make([]string, agentPods)
	group, creating := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range tokens {
		group.Go(func() (err error) { tokens[i], err = agentPod(creating, admin, i); return err })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var watches []agents.Watch
	for i := range agentPods {
		for _, path := range []string{
			"/api/v1/pods?fieldSelector=spec.nodeName%3D" + s.options.pods.Node(i), "/api/v1/services?", "/api/v1/configmaps?",
			"/api/v1/namespaces?", "/apis/discovery.k8s.io/v1/endpointslices?",
		} {
			watches = append(watches, agents.Watch{Path: path})
		}
	}
	config := agents.Config{Watches: watches, PerConnection: len(watches) / agentPods, Once: true,
		Header: func(i int) []hpack.HeaderField {
			return []hpack.HeaderField{{Name: "authorization", Value: "Bearer " + tokens[i]}}
		}}
	set := &agentSet{watches: int64(len(watches))}
	var err error
	if set.direct, err = s.direct.fleet(config); err != nil {
		return nil, err
	}
	set.facade, err = facade.fleet(config)
	return set, err
}

// open opens all watches of a server, and returns how long it took.
func (a *agentSet) open(ctx context.Context, fleet *agents.Fleet, of string) (time.Duration, error) {
	say("%d agents connect to %s", agentPods, of)
	fleet.Start(ctx)
	ctx, cancel := context.WithTimeout(ctx, agentsWithin)
	defer cancel()
	took, err := fleet.Await(ctx, func(c agents.Counts) bool { return c.Watching == a.watches })
	if err != nil {
		fleet.Close()
		return 0, fmt.Errorf("%s: open the watches of agents: %w", of, err)
	}
	say("%d watches are open after %s; refused: %s", a.watches, report.Duration(took), fleet.Refusals())
	return took, nil
}

// end calls take, which withdraws the agents' rights, and adds how long the facade's watches last after that.
// kube-apiserver does not end these watches.
func (a *agentSet) end(ctx context.Context, t *table, why string, take func() error) error {
	began := time.Now()
	if err := take(); err != nil {
		return err
	}
	taken := time.Since(began)
	ctx, cancel := context.WithTimeout(ctx, agentsEnd)
	defer cancel()
	took, err := a.facade.Await(ctx, func(c agents.Counts) bool { return c.Watching == 0 })
	figure := report.Duration(took)
	if err != nil {
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		figure = fmt.Sprintf("%d open after %s", a.facade.Counts().Watching, report.Duration(agentsEnd))
	}
	say("%s within %s: %s; %+v", why, report.Duration(taken), figure, a.facade.Counts())
	t.add(why+" (in "+report.Duration(taken)+"): until all watches have ended",
		fmt.Sprintf("%d open", a.direct.Counts().Watching), figure, "")
	return nil
}

// bindAgents gives the agents' account the rights of readers.
func bindAgents(ctx context.Context, admin kubernetes.Interface) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: agentAccount}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: agentAccount},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: readersRole},
		Subjects: []rbacv1.Subject{
			{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: agentAccount},
		},
	}
	_, errAccount := admin.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Create(ctx, account, metav1.CreateOptions{})
	_, errBinding := admin.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	for _, err := range []error{errAccount, errBinding} {
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create the agents' account: %w", err)
		}
	}
	return nil
}

// agentPod creates a pod that is on no node, and returns a token that is bound to it.
func agentPod(ctx context.Context, admin kubernetes.Interface, i int) (string, error) {
	pod, err := admin.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("agent-%04d", i), Labels: map[string]string{"app": agentAccount}},
		Spec: corev1.PodSpec{ServiceAccountName: agentAccount,
			Containers: []corev1.Container{{Name: "agent", Image: "agent"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("create an agent's pod: %w", err)
	}
	request, err := admin.CoreV1().ServiceAccounts(metav1.NamespaceDefault).CreateToken(ctx, agentAccount,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
		}}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("create an agent's token: %w", err)
	}
	return request.Status.Token, nil
}

func deletePods(ctx context.Context, admin kubernetes.Interface) error {
	now := int64(0)
	err := admin.CoreV1().Pods(metav1.NamespaceDefault).DeleteCollection(ctx,
		metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{LabelSelector: "app=" + agentAccount})
	if err != nil {
		return fmt.Errorf("delete the agents' pods: %w", err)
	}
	return nil
}
