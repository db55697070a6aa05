package ec2

import (
	"context"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type describeInstancesInput struct {
	InstanceIDs []string `query:"InstanceId"`
	Filters     []Filter `query:"Filter"`
	NextToken   string
	MaxResults  *int
}

type describeInstancesOutput struct {
	NextToken    string                    `xml:"nextToken,omitempty"`
	Reservations wire.Set[reservationView] `xml:"reservationSet"`
}

type reservationView struct {
	ReservationID string                 `xml:"reservationId"`
	OwnerID       string                 `xml:"ownerId"`
	Groups        wire.Set[groupRef]     `xml:"groupSet"`
	Instances     wire.Set[instanceView] `xml:"instancesSet"`
}

var instanceFields = fields[*instance]{
	"architecture":                       func(i *instance) []string { return one(i.facts.Architecture) },
	"availability-zone":                  func(i *instance) []string { return one(i.facts.Zone) },
	"availability-zone-id":               func(i *instance) []string { return one(i.facts.ZoneID) },
	"capacity-reservation-id":            func(i *instance) []string { return one(i.facts.ReservationID) },
	"client-token":                       func(i *instance) []string { return one(i.clientToken) },
	"dns-name":                           func(*instance) []string { return nil },
	"group-id":                           groupIDs,
	"iam-instance-profile.arn":           func(i *instance) []string { return one(i.facts.ProfileARN) },
	"image-id":                           func(i *instance) []string { return one(i.facts.ImageID) },
	"instance-id":                        func(i *instance) []string { return one(i.facts.ID) },
	"instance-lifecycle":                 func(i *instance) []string { return one(i.lifecycle()) },
	"instance-state-code":                func(i *instance) []string { return one(strconv.Itoa(i.facts.State.code())) },
	"instance-state-name":                func(i *instance) []string { return one(string(i.facts.State)) },
	"instance-type":                      func(i *instance) []string { return one(i.facts.Type) },
	"instance.group-id":                  groupIDs,
	"launch-time":                        func(i *instance) []string { return one(timeText(i.facts.LaunchTime)) },
	"network-interface.private-dns-name": func(i *instance) []string { return one(i.facts.PrivateDNSName) },
	"placement-group-name":               func(i *instance) []string { return one(i.placementName()) },
	"placement-partition-number":         func(i *instance) []string { return positive(i.partition) },
	"private-dns-name":                   func(i *instance) []string { return one(i.facts.PrivateDNSName) },
	"private-ip-address":                 func(i *instance) []string { return one(i.facts.PrivateIP) },
	"reservation-id":                     func(i *instance) []string { return one(i.reservationID) },
	"spot-instance-request-id":           func(i *instance) []string { return one(i.requestID()) },
	"state-reason-code":                  func(i *instance) []string { return one(i.stateReasonCode) },
	"subnet-id":                          func(i *instance) []string { return one(i.facts.SubnetID) },
	"vpc-id":                             func(i *instance) []string { return one(i.subnet.VPCID) },
}

// placementName is the name of its placement group, "" when it is in none.
func (i *instance) placementName() string {
	if i.placement == nil {
		return ""
	}
	return i.placement.Name
}

func positive(n int) []string {
	if n == 0 {
		return nil
	}
	return one(strconv.Itoa(n))
}

func groupIDs(i *instance) []string {
	var out []string
	for _, g := range i.groups {
		out = append(out, g.ID)
	}
	return out
}

// lifecycle is the market of an instance, and absent for those bought on demand.
func (i *instance) lifecycle() string {
	if i.market == OnDemand {
		return ""
	}
	return i.market
}

// visible returns the instances describing shows now, by launch.
func (m *Model) visible() []*instance {
	now := m.now()
	var out []*instance
	for _, id := range m.order {
		if i := m.instances[id]; !i.visibleAt.After(now) {
			out = append(out, i)
		}
	}
	return out
}

func instanceID(i *instance) string { return i.facts.ID }

func (m *Model) instanceTags(i *instance) map[string]string { return m.tags.seen(i.facts.ID, m.now()) }

// findInstances returns the visible instances with the ids, or all. An id that
// is malformed or not visible is an error of the whole call.
func (m *Model) findInstances(ids []string) ([]*instance, error) {
	for _, id := range ids {
		if !strings.HasPrefix(id, "i-") {
			return nil, wire.Errorf("InvalidInstanceID.Malformed", "Invalid id: \"%s\"", id)
		}
	}
	found, err := pickByID(m.visible(), ids, instanceID, "InvalidInstanceID.NotFound", "instance ID")
	if err == nil {
		return found, nil
	}
	e := wire.AsError(err)
	if strings.Contains(e.Message, ", ") { // EC2 words the plural differently
		e.Message = strings.NewReplacer("instance ID", "instance IDs", "does not exist", "do not exist").Replace(e.Message)
	}
	return nil, e
}

func (m *Model) describeInstances(_ context.Context, in *describeInstancesInput) (*describeInstancesOutput, error) {
	m.lock()
	defer m.unlock()
	if len(in.InstanceIDs) > 0 && in.MaxResults != nil {
		return nil, wire.Errorf("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	}
	found, err := m.findInstances(in.InstanceIDs)
	if err != nil {
		return nil, err
	}
	if found, err = filter(found, in.Filters, instanceFields, m.instanceTags); err != nil {
		return nil, err
	}
	key := func(i *instance) string { return leftPad(int64(i.seq)) }
	found, next, err := page(found, key, pages{5, 1000, 0}, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	return &describeInstancesOutput{next, wire.SetOf(m.reservations(found))}, nil
}

// reservations groups instances by reservation, in order.
func (m *Model) reservations(found []*instance) []reservationView {
	out := []reservationView{}
	place := map[string]int{} // in out, by reservation id
	for _, i := range found {
		at, known := place[i.reservationID]
		if !known {
			at = len(out)
			place[i.reservationID] = at
			out = append(out, reservationView{ReservationID: i.reservationID, OwnerID: m.account})
		}
		out[at].Instances.Items = append(out[at].Instances.Items, m.viewInstance(i))
	}
	return out
}
