package audit

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/listfacade/listfacade/internal/observe"
)

type rules struct{ of audit.PolicyRuleEvaluator }

// readRules reads a policy file. bodies reports whether a rule requests response bodies, which are never written.
func readRules(file string) (r rules, bodies bool, err error) {
	p, err := policy.LoadPolicyFromFile(file)
	if err != nil {
		return rules{}, false, fmt.Errorf("--audit-policy-file: %w", err)
	}
	for _, rule := range p.Rules {
		bodies = bodies || rule.Level == auditinternal.LevelRequestResponse
	}
	return rules{of: policy.NewPolicyRuleEvaluator(p)}, bodies, nil
}

var stageBits = map[auditinternal.Stage]uint8{
	auditinternal.StageRequestReceived: 1, auditinternal.StageResponseStarted: 2, auditinternal.StageResponseComplete: 4,
	auditinternal.StagePanic: 8,
}

// apply returns the level and the omitted stages for a request. RequestResponse becomes Request, because response
// bodies are not written.
func (r rules) apply(e *observe.Event) observe.Audited {
	rule := r.of.EvaluatePolicyRule((*attributes)(e))
	audited := observe.Audited{Level: string(rule.Level)}
	switch rule.Level {
	case auditinternal.LevelNone:
		return observe.Audited{}
	case auditinternal.LevelRequestResponse:
		audited.Level = string(auditinternal.LevelRequest)
	case auditinternal.LevelMetadata, auditinternal.LevelRequest:
	}
	for _, stage := range rule.OmitStages {
		audited.Omits |= stageBits[stage]
	}
	return audited
}

func wants(e *observe.Event, stage auditinternal.Stage) bool {
	return e.Audited.Level != "" && e.Audited.Omits&stageBits[stage] == 0
}

type attributes observe.Event

var _ authorizer.Attributes = (*attributes)(nil)

func (a *attributes) GetUser() user.Info { return a.Caller }

func (a *attributes) GetVerb() string { return a.Verb }

func (a *attributes) IsReadOnly() bool {
	return a.Verb == "get" || a.Verb == "list" || a.Verb == "watch"
}

func (a *attributes) GetNamespace() string { return a.Namespace }

func (a *attributes) GetResource() string { return a.Resource }

func (a *attributes) GetSubresource() string { return a.Subresource }

func (a *attributes) GetName() string { return a.Name }

func (a *attributes) GetAPIGroup() string { return a.Group }

func (a *attributes) GetAPIVersion() string { return a.Version }

func (a *attributes) IsResourceRequest() bool { return a.Scope != "" }

func (a *attributes) GetPath() string { return a.Path }

func (*attributes) GetFieldSelector() (fields.Requirements, error) { return nil, nil }

func (*attributes) GetLabelSelector() (labels.Requirements, error) { return nil, nil }
