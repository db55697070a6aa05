package ec2

import (
	"context"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type tagsInput struct {
	ResourceIDs []string    `query:"ResourceId"`
	Tags        []tagChoice `query:"Tag"`
}

// tagChoice is a tag in a request. DeleteTags tells a value that is absent from
// one that is empty.
type tagChoice struct {
	Key   string
	Value *string
}

type returnOutput struct {
	Return bool `xml:"return"`
}

// resourceKinds maps the prefix of an id to the kind of resource it names.
var resourceKinds = []struct{ prefix, kind string }{
	{"ami-", "image"}, {"cr-", "capacity-reservation"}, {"eni-", "network-interface"}, {"fleet-", "fleet"}, {"i-", "instance"}, {"lt-", "launch-template"}, {"pg-", "placement-group"}, {"sg-", "security-group"}, {"sir-", "spot-instances-request"},
	{"subnet-", "subnet"}, {"vol-", "volume"}, {"vpc-", "vpc"},
}

func resourceKind(id string) string {
	for _, k := range resourceKinds {
		if strings.HasPrefix(id, k.prefix) {
			return k.kind
		}
	}
	return ""
}

// checkResources refuses ids of what does not exist or cannot be seen yet.
func (m *Model) checkResources(ids []string) error {
	if len(ids) == 0 {
		return wire.Errorf("MissingParameter", "The request must contain the parameter resourceIdSet")
	}
	for _, id := range ids {
		if err := m.checkResource(id); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) checkResource(id string) error {
	known := false
	code := "InvalidID"
	switch kind := resourceKind(id); kind {
	case "instance":
		_, err := m.findInstances([]string{id})
		return err
	case "image":
		known, code = slices.ContainsFunc(m.images, func(i catalog.Image) bool { return i.ID == id }), "InvalidAMIID.NotFound"
	case "fleet":
		known, code = slices.ContainsFunc(m.fleets, func(f *fleet) bool { return f.id == id }), "InvalidFleetId.NotFound"
	case "launch-template":
		_, known = m.templates[id]
		code = "InvalidLaunchTemplateId.NotFound"
	case "capacity-reservation":
		known, code = m.reservation(id) != nil, "InvalidCapacityReservationId.NotFound"
	case "placement-group":
		known, code = slices.ContainsFunc(m.placements, func(g *placementGroup) bool { return g.ID == id }), "InvalidPlacementGroup.Unknown"
	case "security-group":
		known, code = m.group(id) != nil, "InvalidGroup.NotFound"
	case "spot-instances-request":
		known = slices.ContainsFunc(m.visibleRequests(), func(r *spotRequest) bool { return r.id == id })
		code = "InvalidSpotInstanceRequestID.NotFound"
	case "subnet":
		known, code = m.subnet(id) != nil, "InvalidSubnetID.NotFound"
	case "vpc":
		known, code = slices.ContainsFunc(m.vpcs, func(v *vpc) bool { return v.ID == id }), "InvalidVpcID.NotFound"
	case "network-interface":
		for _, i := range m.visible() {
			known = known || i.facts.State != Terminated && slices.ContainsFunc(i.interfaces, func(n networkInterface) bool { return n.id == id })
		}
		code = "InvalidNetworkInterfaceID.NotFound"
	case "volume":
		_, known = m.tags[id]
		known = known || slices.ContainsFunc(m.detached, func(v detachedVolume) bool { return v.id == id })
		for _, i := range m.visible() {
			known = known || slices.ContainsFunc(i.volumes, func(v volume) bool { return v.id == id })
		}
		code = "InvalidVolume.NotFound"
	}
	if !known {
		return wire.Errorf(code, "The ID '%s' is not valid or does not exist", id)
	}
	return nil
}

func (m *Model) createTags(_ context.Context, in *tagsInput) (*returnOutput, error) {
	m.lock()
	defer m.unlock()
	if err := m.checkResources(in.ResourceIDs); err != nil {
		return nil, err
	}
	var tags []Tag
	added := map[string]string{}
	for _, t := range in.Tags {
		tags = append(tags, Tag{t.Key, value(t.Value)})
		added[t.Key] = value(t.Value)
	}
	if len(tags) == 0 {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter tagSet")
	}
	if err := checkTags(tags); err != nil {
		return nil, err
	}
	for _, id := range in.ResourceIDs {
		if m.countWith(id, added) > maxTags {
			return nil, wire.Errorf("TagLimitExceeded", "The maximum number of Tags for a resource has been reached.")
		}
	}
	for _, id := range in.ResourceIDs {
		m.tags.set(id, added, m.now().Add(m.timing.Visibility))
	}
	return &returnOutput{true}, nil
}

// countWith returns how many tags a resource has once added are set; those AWS
// sets itself do not count.
func (m *Model) countWith(id string, added map[string]string) int {
	all := m.tags.all(id)
	for key := range added {
		all[key] = ""
	}
	n := 0
	for key := range all {
		if !strings.HasPrefix(key, "aws:") {
			n++
		}
	}
	return n
}

// deleteTags removes tags by key, or by key and value when one is given; all
// but those of AWS when no tag is named. Tags that are not there are no error.
func (m *Model) deleteTags(_ context.Context, in *tagsInput) (*returnOutput, error) {
	m.lock()
	defer m.unlock()
	if err := m.checkResources(in.ResourceIDs); err != nil {
		return nil, err
	}
	at := m.now().Add(m.timing.Visibility)
	for _, id := range in.ResourceIDs {
		all := m.tags.all(id)
		for _, key := range sortedKeys(all) {
			named := len(in.Tags) == 0 || slices.ContainsFunc(in.Tags, func(t tagChoice) bool {
				return t.Key == key && (t.Value == nil || *t.Value == all[key])
			})
			if named && !strings.HasPrefix(key, "aws:") {
				m.tags.remove(id, key, at)
			}
		}
	}
	return &returnOutput{true}, nil
}

type describeTagsInput struct {
	Filters    []Filter `query:"Filter"`
	NextToken  string
	MaxResults *int
}

type describeTagsOutput struct {
	NextToken string            `xml:"nextToken,omitempty"`
	Tags      wire.Set[tagView] `xml:"tagSet"`
}

type tagView struct {
	ResourceID   string `xml:"resourceId"`
	ResourceType string `xml:"resourceType"`
	Key          string `xml:"key"`
	Value        string `xml:"value"`
}

var tagFields = fields[tagView]{
	"key":           func(t tagView) []string { return one(t.Key) },
	"resource-id":   func(t tagView) []string { return one(t.ResourceID) },
	"resource-type": func(t tagView) []string { return one(t.ResourceType) },
	"value":         func(t tagView) []string { return []string{t.Value} },
}

func (m *Model) describeTags(_ context.Context, in *describeTagsInput) (*describeTagsOutput, error) {
	m.lock()
	defer m.unlock()
	views := []tagView{}
	for _, id := range sortedKeys(m.tags) {
		for _, t := range tagList(m.tags.seen(id, m.now())) {
			views = append(views, tagView{id, resourceKind(id), t.Key, t.Value})
		}
	}
	tags := func(t tagView) map[string]string { return map[string]string{t.Key: t.Value} }
	views, err := filter(views, in.Filters, tagFields, tags)
	if err != nil {
		return nil, err
	}
	key := func(t tagView) string { return t.ResourceID + "\x00" + t.Key }
	views, next, err := page(views, key, pages{5, 1000, 1000}, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	return &describeTagsOutput{next, wire.SetOf(views)}, nil
}
