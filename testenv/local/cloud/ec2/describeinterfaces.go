package ec2

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type describeNetworkInterfacesInput struct {
	NetworkInterfaceIDs []string `query:"NetworkInterfaceId"`
	Filters             []Filter `query:"Filter"`
	NextToken           string
	MaxResults          *int
}

type describeNetworkInterfacesOutput struct {
	NextToken  string                         `xml:"nextToken,omitempty"`
	Interfaces wire.Set[networkInterfaceView] `xml:"networkInterfaceSet"`
}

// networkInterfaceView is an interface as a thing of its own: an instance's, and more.
type networkInterfaceView struct {
	interfaceView
	AvailabilityZone   string             `xml:"availabilityZone"`
	AvailabilityZoneID string             `xml:"availabilityZoneId"`
	RequesterManaged   bool               `xml:"requesterManaged"`
	Attachment         attachedView       `xml:"attachment"`
	Addresses          []ownedAddressView `xml:"privateIpAddressesSet>item"`
	Tags               wire.Set[Tag]      `xml:"tagSet"`
}

type attachedView struct {
	attachmentView
	InstanceID      string `xml:"instanceId"`
	InstanceOwnerID string `xml:"instanceOwnerId"`
}

type ownedAddressView struct {
	addressView
	Association *associationView `xml:"association"`
}

var interfaceFields = fields[networkInterfaceView]{
	"addresses.private-ip-address": func(n networkInterfaceView) []string { return one(n.PrivateIPAddress) },
	"attachment.attachment-id":     func(n networkInterfaceView) []string { return one(n.Attachment.AttachmentID) },
	"attachment.delete-on-termination": func(n networkInterfaceView) []string {
		return one(strconv.FormatBool(n.Attachment.DeleteOnTermination))
	},
	"attachment.device-index": func(n networkInterfaceView) []string { return one(strconv.Itoa(n.Attachment.DeviceIndex)) },
	"attachment.instance-id":  func(n networkInterfaceView) []string { return one(n.Attachment.InstanceID) },
	"attachment.status":       func(n networkInterfaceView) []string { return one(n.Attachment.Status) },
	"availability-zone":       func(n networkInterfaceView) []string { return one(n.AvailabilityZone) },
	"availability-zone-id":    func(n networkInterfaceView) []string { return one(n.AvailabilityZoneID) },
	"description":             func(n networkInterfaceView) []string { return one(n.Description) },
	"group-id": func(n networkInterfaceView) (ids []string) {
		for _, g := range n.Groups.Items {
			ids = append(ids, g.GroupID)
		}
		return ids
	},
	"interface-type":       func(n networkInterfaceView) []string { return one(n.InterfaceType) },
	"mac-address":          func(n networkInterfaceView) []string { return one(n.MACAddress) },
	"network-interface-id": func(n networkInterfaceView) []string { return one(n.NetworkInterfaceID) },
	"owner-id":             func(n networkInterfaceView) []string { return one(n.OwnerID) },
	"private-dns-name":     func(n networkInterfaceView) []string { return one(n.PrivateDNSName) },
	"private-ip-address":   func(n networkInterfaceView) []string { return one(n.PrivateIPAddress) },
	"requester-managed":    func(n networkInterfaceView) []string { return one(strconv.FormatBool(n.RequesterManaged)) },
	"status":               func(n networkInterfaceView) []string { return one(n.Status) },
	"subnet-id":            func(n networkInterfaceView) []string { return one(n.SubnetID) },
	"vpc-id":               func(n networkInterfaceView) []string { return one(n.VPCID) },
}

// describeNetworkInterfaces shows the interfaces of instances that it shows and that have not ended.
func (m *Model) describeNetworkInterfaces(_ context.Context, in *describeNetworkInterfacesInput) (*describeNetworkInterfacesOutput, error) {
	m.lock()
	defer m.unlock()
	if len(in.NetworkInterfaceIDs) > 0 && in.MaxResults != nil {
		return nil, wire.Errorf("InvalidParameterCombination", "The parameter networkInterfaceIds cannot be used with the parameter maxResults")
	}
	for _, id := range in.NetworkInterfaceIDs {
		if !strings.HasPrefix(id, "eni-") {
			return nil, wire.Errorf("InvalidNetworkInterfaceId.Malformed", "Invalid id: \"%s\" (expecting \"eni-...\")", id)
		}
	}
	views := []networkInterfaceView{}
	for _, i := range m.visible() {
		if i.facts.State == Terminated {
			continue
		}
		for _, n := range i.interfaces {
			views = append(views, m.viewAttached(i, n))
		}
	}
	id := func(n networkInterfaceView) string { return n.NetworkInterfaceID }
	slices.SortFunc(views, func(a, b networkInterfaceView) int {
		return strings.Compare(a.NetworkInterfaceID, b.NetworkInterfaceID)
	})
	views, err := pickByID(views, in.NetworkInterfaceIDs, id, "InvalidNetworkInterfaceID.NotFound", "networkInterface ID")
	if err != nil {
		return nil, err
	}
	tags := func(n networkInterfaceView) map[string]string { return m.tags.seen(n.NetworkInterfaceID, m.now()) }
	if views, err = filter(views, in.Filters, interfaceFields, tags); err != nil {
		return nil, err
	}
	views, next, err := page(views, id, pages{5, 1000, 0}, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	return &describeNetworkInterfacesOutput{next, wire.SetOf(views)}, nil
}

func (m *Model) viewAttached(i *instance, n networkInterface) networkInterfaceView {
	v := networkInterfaceView{
		interfaceView: m.viewInterface(i, n), AvailabilityZone: i.facts.Zone, AvailabilityZoneID: i.facts.ZoneID,
		Tags: wire.SetOf(tagList(m.tags.seen(n.id, m.now()))),
	}
	v.Attachment = attachedView{v.interfaceView.Attachment, i.facts.ID, m.account}
	for _, a := range v.interfaceView.Addresses.Items {
		v.Addresses = append(v.Addresses, ownedAddressView{a, v.Association})
	}
	return v
}
