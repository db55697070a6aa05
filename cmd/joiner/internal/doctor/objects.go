package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
	"github.com/joiner-sh/joiner/shared/api/crds"
	"github.com/joiner-sh/joiner/shared/model"
)

// classes says what the catalog function found wrong with node classes: selectors that match nothing, roles, dry runs
// of launches.
func (c *cluster) classes(ctx context.Context) ([]check.Finding, error) {
	ledger, err := c.at.Ledger.Load(ctx, c.reg)
	if err != nil {
		return nil, err
	}
	var found []check.Finding
	for i := range ledger.Classes {
		if f, is := classFinding(&ledger.Classes[i]); is {
			f.Object = c.reg.Cluster + " EC2NodeClass " + ledger.Classes[i].Name
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		found = check.One(check.OK,
			fmt.Sprintf("%d EC2NodeClasses are resolved, and each has subnets, security groups and images and passed "+
				"validation", len(ledger.Classes)), "")
	}
	return found, nil
}

// classFinding is what is wrong with a class, in one line; false where nothing is. What is not known because of
// something that is wrong is left out.
func classFinding(record *model.ClassRecord) (check.Finding, bool) {
	var wrong, unknown []string
	for _, problem := range record.Status.Problems {
		text := fmt.Sprintf("%s: %s", problem.Reason, problem.Message)
		if problem.Unknown {
			unknown = append(unknown, text)
		} else {
			wrong = append(wrong, text)
		}
	}
	switch {
	case len(wrong) > 0:
		return check.Finding{Level: check.Fail, Seen: strings.Join(wrong, "; "),
			Do: "kubectl describe ec2nodeclass " + record.Name +
				" has its conditions; correct the class, or tag what its selectors name"}, true
	case len(unknown) > 0:
		return check.Finding{Level: check.Warn, Seen: strings.Join(unknown, "; "),
			Do: "it is unknown; read the log of joiner-catalog if it stays so"}, true
	}
	return check.Finding{}, false
}

// objects compares what is in the cluster of the chart with what this command and the functions are of.
func (c *cluster) objects(ctx context.Context) ([]check.Finding, error) {
	client, err := c.clients().Open(c.reg)
	if err != nil {
		return nil, err
	}
	shipped, err := shippedSchemas()
	if err != nil {
		return nil, err
	}
	have, err := client.Installed(ctx, slices.Sorted(maps.Keys(shipped)), c.namespace, watcherAccount)
	if err != nil {
		return nil, err
	}
	upgrade := "helm upgrade --install joiner infra/chart, from a checkout of the functions' version; joiner attach " +
		c.reg.Cluster + " prints the whole command"
	var found []check.Finding
	say := func(level check.Level, format string, args ...any) {
		found = append(found, check.Finding{Level: level, Seen: fmt.Sprintf(format, args...), Do: upgrade})
	}
	for _, name := range slices.Sorted(maps.Keys(shipped)) {
		switch schemas, there := have.Schemas[name]; {
		case !there && name == buffers:
			// It may be left out.
		case !there && name == overlays:
			say(check.Warn, "the CustomResourceDefinition %s does not exist: there are no NodeOverlays", name)
		case !there:
			say(check.Fail,
				"the CustomResourceDefinition %s does not exist: no node is terminated for that, and nothing is "+
					"launched; apply it, the NodePools and the EC2NodeClasses again, and NodeClaims are created again "+
					"by "+
					"themselves", name)
		case slices.Contains(have.Going, name):
			say(check.Fail,
				"the CustomResourceDefinition %s is being deleted, with all its objects: no node is terminated for "+
					"that; once it is deleted apply it, the NodePools and the EC2NodeClasses again, and NodeClaims "+
					"are "+
					"created again by themselves", name)
		case name != buffers && !sameJSON(schemas, shipped[name]): // which another autoscaler may have brought
			say(check.Warn,
				"the CustomResourceDefinition %s is not that of this version: fields may be refused or dropped", name)
		}
	}
	switch {
	case have.Chart == "":
		say(check.Warn, "there is no Deployment %s/%s: the chart is not installed, or in another namespace",
			c.namespace, watcherAccount)
	case c.at.Version != "" && c.at.Version != "dev" && have.Chart != c.at.Version:
		say(check.Warn, "the watcher is of version %s and the functions are of %s", have.Chart, c.at.Version)
	}
	if len(found) == 0 {
		found = check.One(check.OK,
			"its CustomResourceDefinitions are those of this version, and the watcher is of version "+have.Chart, "")
	}
	return found, nil
}

// buffers is the one definition that may be somebody else's, or missing.
const buffers = "capacitybuffers.autoscaling.x-k8s.io"

// overlays is the one that clusters of earlier versions lack, where nothing depends on it.
const overlays = "nodeoverlays.karpenter.sh"

// sameJSON reports whether two values are written alike, whatever types their numbers have here.
func sameJSON(a, b any) bool {
	one, err := json.Marshal(a)
	two, failed := json.Marshal(b)
	return err == nil && failed == nil && bytes.Equal(one, two)
}

// shippedSchemas are the schemas of this version's definitions, by name and version.
func shippedSchemas() (map[string]map[string]any, error) {
	out := map[string]map[string]any{}
	for _, manifest := range crds.Manifests() {
		var definition struct {
			Metadata struct{ Name string }
			Spec     struct {
				Versions []struct {
					Name   string
					Schema any
				}
			}
		}
		if err := yaml.Unmarshal(manifest, &definition); err != nil {
			return nil, fmt.Errorf("read the CustomResourceDefinitions of this version: %w", err)
		}
		schemas := map[string]any{}
		for _, version := range definition.Spec.Versions {
			schemas[version.Name] = version.Schema
		}
		out[definition.Metadata.Name] = schemas
	}
	return out, nil
}
