package ec2

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// groupText is what names and descriptions of security groups are made of. Source: API reference, CreateSecurityGroup.
var groupText = regexp.MustCompile(`^[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{1,255}$`)

type createSecurityGroupInput struct {
	GroupName         string
	Description       string             `query:"GroupDescription"`
	VPCID             string             `query:"VpcId"`
	TagSpecifications []TagSpecification `query:"TagSpecification"`
}

type createSecurityGroupOutput struct {
	GroupID  string        `xml:"groupId"`
	GroupARN string        `xml:"securityGroupArn"`
	Tags     wire.Set[Tag] `xml:"tagSet"`
}

// createSecurityGroup makes a group in a VPC that is named: no VPC of the model is the default one.
func (m *Model) createSecurityGroup(_ context.Context, in *createSecurityGroupInput) (*createSecurityGroupOutput, error) {
	m.lock()
	defer m.unlock()
	if err := checkTagSpecifications(in.TagSpecifications, "security-group"); err != nil {
		return nil, err
	}
	switch {
	case in.GroupName == "":
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter GroupName")
	case in.Description == "":
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter GroupDescription")
	case !groupText.MatchString(in.GroupName) || strings.HasPrefix(in.GroupName, "sg-"):
		return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter groupName is invalid. Group names may not be in the format sg-*, have at most 255 characters, and hold only letters, digits, spaces and ._-:/()#,@[]+=&;{}!$*", in.GroupName)
	case !groupText.MatchString(in.Description):
		return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter GroupDescription is invalid. It has at most 255 characters, and holds only letters, digits, spaces and ._-:/()#,@[]+=&;{}!$*", in.Description)
	case in.VPCID == "":
		return nil, wire.Errorf("VPCIdNotSpecified", "No default VPC for this user")
	case !slices.ContainsFunc(m.vpcs, func(v *vpc) bool { return v.ID == in.VPCID }):
		return nil, wire.Errorf("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", in.VPCID)
	case slices.ContainsFunc(m.groups, func(g *securityGroup) bool { return g.VPCID == in.VPCID && strings.EqualFold(g.Name, in.GroupName) }):
		return nil, wire.Errorf("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'", in.GroupName, in.VPCID)
	}
	tags := tagsFor("security-group", in.TagSpecifications...)
	id := m.addSecurityGroup(SecurityGroup{VPCID: in.VPCID, Name: in.GroupName, Description: in.Description, Tags: tags})
	return &createSecurityGroupOutput{id, m.arn("security-group/" + id), wire.SetOf(tagList(tags))}, nil
}

type deleteSecurityGroupInput struct {
	GroupID   string `query:"GroupId"`
	GroupName string
}

type deleteSecurityGroupOutput struct {
	Return  bool   `xml:"return"`
	GroupID string `xml:"groupId"`
}

// deleteSecurityGroup deletes a group that no network interface has.
func (m *Model) deleteSecurityGroup(_ context.Context, in *deleteSecurityGroupInput) (*deleteSecurityGroupOutput, error) {
	m.lock()
	defer m.unlock()
	switch {
	case in.GroupID == "" && in.GroupName != "":
		return nil, wire.Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist in default VPC", in.GroupName)
	case in.GroupID == "":
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter GroupName or GroupId")
	case !strings.HasPrefix(in.GroupID, "sg-"):
		return nil, wire.Errorf("InvalidGroupId.Malformed", "Invalid id: \"%s\" (expecting \"sg-...\")", in.GroupID)
	}
	g := m.group(in.GroupID)
	if g == nil {
		return nil, wire.Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist", in.GroupID)
	}
	for _, id := range m.order {
		i := m.instances[id]
		if i.facts.State != Terminated && slices.Contains(i.groups, g) {
			return nil, wire.Errorf("DependencyViolation", "resource %s has a dependent object", g.ID)
		}
	}
	m.groups = slices.DeleteFunc(m.groups, func(other *securityGroup) bool { return other == g })
	delete(m.tags, g.ID)
	return &deleteSecurityGroupOutput{true, g.ID}, nil
}
