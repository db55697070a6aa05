package execute

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/wire"
)

// kinds are what functions ask for, beside the roles their groups are bound to: a second wall that is the same whatever anybody
// binds to those groups. By "group/resource[/subresource]", the verbs.
var kinds = map[string][]string{
	"/pods":                         {"get", "list", "delete"},
	"/pods/eviction":                {"create"},
	"/pods/status":                  {"patch"},
	"/nodes":                        {"get", "list", "patch", "delete"},
	"/namespaces":                   {"list"},
	"/persistentvolumes":            {"get", "list"},
	"/persistentvolumeclaims":       {"list"},
	"/services":                     {"list"},
	"/replicationcontrollers":       {"list"},
	"/podtemplates":                 {"list"},
	"/events":                       {"create", "patch"},
	"apps/daemonsets":               {"list"},
	"apps/deployments":              {"list"},
	"apps/replicasets":              {"list"},
	"apps/statefulsets":             {"list"},
	"policy/poddisruptionbudgets":   {"list"},
	"storage.k8s.io/storageclasses": {"list"},
	"storage.k8s.io/csinodes":       {"list"},

	"resource.k8s.io/resourceclaims":         {"list"},
	"resource.k8s.io/resourceclaimtemplates": {"list"},
	"resource.k8s.io/deviceclasses":          {"list"},
	"resource.k8s.io/resourceslices":         {"list"},

	"storage.k8s.io/volumeattachments":               {"list"},
	"karpenter.sh/nodepools":                         {"get", "list"},
	"karpenter.sh/nodepools/status":                  {"patch"},
	"karpenter.sh/nodeoverlays":                      {"get", "list"},
	"karpenter.sh/nodeoverlays/status":               {"patch"},
	"karpenter.sh/nodeclaims":                        {"get", "list", "create", "patch", "delete"},
	"karpenter.sh/nodeclaims/status":                 {"patch"},
	"karpenter.k8s.aws/ec2nodeclasses":               {"get", "list", "patch"},
	"karpenter.k8s.aws/ec2nodeclasses/status":        {"patch"},
	"apiextensions.k8s.io/customresourcedefinitions": {"get"},
	"autoscaling.x-k8s.io/capacitybuffers":           {"get", "list"},
	"autoscaling.x-k8s.io/capacitybuffers/status":    {"patch"},
}

// queries are the parameters that functions use. Without watch, follow and the like an answer is one and soon there.
var queries = []string{"limit", "continue", "labelSelector", "fieldSelector", "resourceVersion", "resourceVersionMatch", "fieldManager", "force", "fieldValidation", "timeout"}

// allowed says why a request is of no kind that functions ask for, "" where it is of one.
func allowed(r wire.RelayRequest) string {
	if strings.ContainsAny(r.Path, "%\\?#") || path.Clean(r.Path) != r.Path {
		return "the path is not in canonical form"
	}
	query, err := url.ParseQuery(r.Query)
	if err != nil {
		return "the query cannot be read"
	}
	for name := range query {
		if !slices.Contains(queries, name) {
			return fmt.Sprintf("functions do not use the parameter %.40q", name)
		}
	}
	kind, named, ok := target(r.Path)
	verb := verbOf(r.Method, named)
	if !ok || verb == "" || !slices.Contains(kinds[kind], verb) {
		return fmt.Sprintf("functions do not send it (%s %s)", verb, kind)
	}
	return ""
}

// target reads "group/resource[/subresource]" out of a path, and whether it names one object.
func target(path string) (kind string, named, ok bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	var group string
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return "", false, false
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	if len(parts) > 3 || slices.Contains(parts, "") {
		return "", false, false
	}
	kind = group + "/" + parts[0]
	if len(parts) == 3 {
		kind += "/" + parts[2]
	}
	return kind, len(parts) > 1, true
}

// verbOf is the API's word for a method; "" for what is done to all objects at once.
func verbOf(method string, named bool) string {
	switch method {
	case "GET":
		if named {
			return "get"
		}
		return "list"
	case "POST":
		return "create"
	case "PUT":
		if named {
			return "update"
		}
	case "PATCH":
		if named {
			return "patch"
		}
	case "DELETE":
		if named {
			return "delete"
		}
	}
	return ""
}
