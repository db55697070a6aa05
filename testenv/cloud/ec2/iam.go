package ec2

import (
	"context"
	"net/http"

	"github.com/joiner-sh/joiner/testenv/cloud/wire"
)

// NewIAMHandler serves the instance profiles of m on the wire protocol of IAM.
func NewIAMHandler(m *Model) http.Handler {
	return wire.Query{Namespace: "https://iam.amazonaws.com/doc/2010-05-08/", Actions: map[string]wire.QueryAction{
		"GetInstanceProfile": wire.QueryFunc(m.getInstanceProfile),
	}}
}

type getInstanceProfileInput struct {
	InstanceProfileName string
}

type getInstanceProfileOutput struct {
	InstanceProfile iamProfileView
}

type iamProfileView struct {
	Path                string
	InstanceProfileName string
	InstanceProfileID   string `xml:"InstanceProfileId"`
	ARN                 string `xml:"Arn"`
	CreateDate          wire.Time
	Roles               wire.Members[iamRoleView]
}

type iamRoleView struct {
	Path                     string
	RoleName                 string
	RoleID                   string `xml:"RoleId"`
	ARN                      string `xml:"Arn"`
	CreateDate               wire.Time
	AssumeRolePolicyDocument string
}

func (m *Model) getInstanceProfile(_ context.Context, in *getInstanceProfileInput) (*getInstanceProfileOutput, error) {
	m.lock()
	defer m.unlock()
	p, ok := m.profiles[in.InstanceProfileName]
	if !ok {
		return nil, wire.StatusErrorf(http.StatusNotFound, "NoSuchEntity", "Instance Profile %s cannot be found.", in.InstanceProfileName)
	}
	v := iamProfileView{Path: "/", InstanceProfileName: p.Name, InstanceProfileID: p.ID, ARN: p.ARN, CreateDate: wire.Time{Time: p.Created}}
	if p.Role != "" {
		v.Roles = wire.MembersOf([]iamRoleView{{
			Path: "/", RoleName: p.Role, RoleID: iamID("AROA", m.account+"/role/"+p.Role),
			ARN: "arn:aws:iam::" + m.account + ":role/" + p.Role, CreateDate: wire.Time{Time: p.Created},
		}})
	}
	return &getInstanceProfileOutput{v}, nil
}
