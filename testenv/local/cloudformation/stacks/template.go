package stacks

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation"
)

// Limits of templates. Source: AWS CloudFormation user guide, "CloudFormation quotas".
const (
	maxBody        = 51_200    // bytes, of a template in the request
	maxObject      = 1_048_576 // bytes, of one in S3
	maxResources   = 500
	maxOutputs     = 200
	maxParameters  = 200
	maxDescription = 1024 // bytes
	maxValue       = 4096 // bytes, of a parameter
	maxStackName   = 128
	maxLogicalID   = 255
	maxTags        = 50
)

var (
	stackName = regexp.MustCompile(`^[a-zA-Z][-a-zA-Z0-9]*$`)
	logicalID = regexp.MustCompile(`^[a-zA-Z0-9]+$`)
)

// source is where a request has its template.
type source struct {
	body, url string
	previous  bool
}

// text returns the template of a request: what it holds, what S3 does at its URL, or what the stack has.
func (m *Model) text(from source, s *stack) (string, error) {
	switch {
	case from.body != "" && from.url != "":
		return "", invalid("Both template body and template url were specified; give one")
	case from.body != "":
		if len(from.body) > maxBody {
			return "", invalid("1 validation error detected: Value at 'templateBody' failed to satisfy constraint: Member must have length less than or equal to %d", maxBody)
		}
		return from.body, nil
	case from.url != "":
		return m.fetch(from.url)
	case from.previous && s != nil && s.body != "":
		return s.body, nil
	}
	return "", invalid("Either Template URL or Template Body must be specified.")
}

// fetch reads a template from S3, by a URL with the bucket in its path or its host.
func (m *Model) fetch(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return "", invalid("TemplateURL must be a supported URL.")
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if name, _, in := strings.Cut(u.Host, ".s3."); in {
		bucket, key = name, strings.TrimPrefix(u.Path, "/")
	}
	body, ok := m.object(bucket, key)
	switch {
	case !ok:
		return "", invalid("S3 error: The specified key does not exist.\nFor more information check http://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html")
	case len(body) > maxObject:
		return "", invalid("Template size is %d bytes, the limit is %d", len(body), maxObject)
	}
	return string(body), nil
}

// parse reads a template and holds it against CloudFormation's limits.
func parse(text string) (*cloudformation.Template, error) {
	json, err := yaml.YAMLToJSONStrict([]byte(text)) // JSON is YAML
	if err != nil {
		return nil, invalid("Template format error: %v", err)
	}
	t, err := cloudformation.Parse(json)
	if err != nil {
		return nil, invalid("Template format error: %v", err)
	}
	for _, one := range []struct {
		what     string
		has, max int
	}{{"resources", len(t.Resources), maxResources}, {"outputs", len(t.Outputs), maxOutputs}, {"parameters", len(t.Parameters), maxParameters}, {"bytes of description", len(t.Description), maxDescription}} {
		if one.has > one.max {
			return nil, invalid("Template format error: Number of %s, %d, is greater than maximum allowed, %d", one.what, one.has, one.max)
		}
	}
	for _, names := range [][]string{slices.Sorted(maps.Keys(t.Resources)), slices.Sorted(maps.Keys(t.Outputs))} {
		for _, name := range names {
			if len(name) > maxLogicalID || !logicalID.MatchString(name) {
				return nil, invalid("Template format error: %s is no logical id: it has letters and digits, %d at most", name, maxLogicalID)
			}
		}
	}
	if err := t.CheckTypes(); err != nil {
		return nil, invalid("Template format error: Unrecognized resource types: %v", err)
	}
	return t, nil
}

// fill returns the values of a template's parameters: as given, as they were, or by default; of those that name a parameter of the Parameter Store what that
// holds.
func (m *Model) fill(t *cloudformation.Template, given []parameter, s *stack) ([]parameter, map[string]string, error) {
	var out []parameter
	values := map[string]string{}
	for _, p := range given {
		if _, ok := t.Parameters[p.ParameterKey]; !ok {
			return nil, nil, invalid("Parameters: [%s] do not exist in the template", p.ParameterKey)
		}
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		p, ok, err := valueOf(name, t.Parameters[name], given, s)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			missing = append(missing, name)
			continue
		}
		if len(p.ParameterValue) > maxValue {
			return nil, nil, invalid("Parameter %s has %d bytes, the limit is %d", name, len(p.ParameterValue), maxValue)
		}
		values[name] = p.ParameterValue
		if strings.HasPrefix(t.Parameters[name].Type, "AWS::SSM::Parameter::Value<") {
			value, ok := m.account.Parameters.Value(p.ParameterValue)
			if !ok {
				return nil, nil, invalid("Unable to fetch parameters [%s] from parameter store for this account.", p.ParameterValue)
			}
			values[name], p.ResolvedValue = value, value
		}
		out = append(out, p)
	}
	if len(missing) > 0 {
		return nil, nil, invalid("Parameters: %v must have values", missing)
	}
	return out, values, nil
}

// valueOf returns the value of one parameter; ok is false where it has none.
func valueOf(name string, declared cloudformation.Parameter, given []parameter, s *stack) (p parameter, ok bool, err error) {
	if i := slices.IndexFunc(given, func(p parameter) bool { return p.ParameterKey == name }); i >= 0 {
		if !given[i].UsePreviousValue {
			return parameter{ParameterKey: name, ParameterValue: given[i].ParameterValue}, true, nil
		}
		if s != nil {
			for _, before := range s.parameters {
				if before.ParameterKey == name {
					return parameter{ParameterKey: name, ParameterValue: before.ParameterValue}, true, nil
				}
			}
		}
		return p, false, invalid("Invalid input for parameter key %s. Cannot specify usePreviousValue as true for a parameter key not in the previous template", name)
	}
	if declared.Default == nil {
		return p, false, nil
	}
	return parameter{ParameterKey: name, ParameterValue: fmt.Sprint(declared.Default)}, true, nil
}

// capable returns an error where a template makes roles or policies and the request does not acknowledge that.
func capable(t *cloudformation.Template, capabilities []string) error {
	needed := ""
	for id, r := range t.Resources {
		if !strings.HasPrefix(r.Type, "AWS::IAM::") {
			continue
		}
		if needed == "" {
			needed = "CAPABILITY_IAM"
		}
		for _, name := range []string{"RoleName", "InstanceProfileName", "ManagedPolicyName"} {
			if _, named := t.Resources[id].Properties[name]; named {
				needed = "CAPABILITY_NAMED_IAM"
			}
		}
	}
	if needed == "" || slices.Contains(capabilities, "CAPABILITY_NAMED_IAM") || needed == "CAPABILITY_IAM" && slices.Contains(capabilities, "CAPABILITY_IAM") {
		return nil
	}
	return wire.Errorf("InsufficientCapabilitiesException", "Requires capabilities : [%s]", needed)
}

// passes returns an error where CloudFormation may not take on the role that a stack is to be deployed with.
func (m *Model) passes(role string) error {
	if role == "" {
		return nil
	}
	asked := wire.Access{Action: "sts:AssumeRole", Resource: role, Context: map[string][]string{}}
	if d := m.account.Cloud.Policies.Decide(policy.Service("cloudformation.amazonaws.com"), asked); !d.Allowed() {
		return invalid("Role %s is invalid or cannot be assumed", role)
	}
	return nil
}
