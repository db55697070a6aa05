package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/requirement"
)

// maxSimilar is how many names are proposed.
const maxSimilar = 5

// notThere says that there is no such pod, and which may be meant.
func notThere(cluster *Cluster, namespace, name string) (Cause, []string) {
	s := cluster.Ask.Snapshot
	var inNamespace, elsewhere, spaces []string
	for i := range s.Pods {
		pod := &s.Pods[i]
		switch {
		case pod.Buffer != "":
		case pod.Namespace == namespace:
			inNamespace = append(inNamespace, pod.Name)
		case pod.Name == name:
			elsewhere = append(elsewhere, pod.Key())
		}
		spaces = append(spaces, pod.Namespace)
	}
	for i := range s.Namespaces {
		spaces = append(spaces, s.Namespaces[i].Name)
	}
	var near []string
	for _, other := range nearest(name, inNamespace) {
		near = append(near, namespace+"/"+other)
	}
	if len(near) == 0 {
		slices.Sort(elsewhere)
		near = elsewhere[:min(maxSimilar, len(elsewhere))]
	}
	slices.Sort(spaces)
	cause := Cause{Code: NotThere, Message: "does not exist as of " + stamp(cluster.now())}
	switch {
	case len(near) > 0:
		cause.Remedy = "did you mean " + strings.Join(near, ", ") + "?"
	case !slices.Contains(spaces, namespace):
		cause.Message += fmt.Sprintf(", and nothing is in namespace %s", namespace)
		if other := requirement.Nearest(namespace, spaces); other != "" {
			cause.Remedy = "did you mean namespace " + other + "?"
		}
	}
	if cause.Remedy == "" {
		cause.Remedy = fmt.Sprintf("a pod that a ResourceQuota, an admission webhook or the end of its namespace keeps from being created does not exist: see the FailedCreate events of its ReplicaSet or Job (kubectl -n %s get events)", namespace)
	}
	return cause, near
}

// nearest returns the names that may be meant: those that begin with it, else the one that is nearly the same.
func nearest(name string, among []string) []string {
	slices.Sort(among)
	among = slices.Compact(among)
	var out []string
	for _, other := range among {
		if strings.HasPrefix(other, name+"-") && len(out) < maxSimilar {
			out = append(out, other)
		}
	}
	if other := requirement.Nearest(name, among); len(out) == 0 && other != "" {
		out = append(out, other)
	}
	return out
}
