package ec2

import (
	"context"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type describeLaunchTemplatesInput struct {
	LaunchTemplateIDs   []string `query:"LaunchTemplateId"`
	LaunchTemplateNames []string `query:"LaunchTemplateName"`
	Filters             []Filter `query:"Filter"`
	NextToken           string
	MaxResults          *int
}

type describeLaunchTemplatesOutput struct {
	LaunchTemplates wire.Set[launchTemplateView] `xml:"launchTemplates"`
	NextToken       string                       `xml:"nextToken,omitempty"`
}

var templateFields = fields[launchTemplateView]{
	"launch-template-id":   func(t launchTemplateView) []string { return one(t.LaunchTemplateID) },
	"launch-template-name": func(t launchTemplateView) []string { return one(t.LaunchTemplateName) },
	"create-time":          func(t launchTemplateView) []string { return one(timeText(t.CreateTime.Time)) },
}

func (m *Model) describeLaunchTemplates(_ context.Context, in *describeLaunchTemplatesInput) (*describeLaunchTemplatesOutput, error) {
	m.lock()
	defer m.unlock()
	views := []launchTemplateView{}
	for _, id := range sortedKeys(m.templates) {
		views = append(views, m.view(m.templates[id]))
	}
	views, err := pickByID(views, in.LaunchTemplateIDs, func(t launchTemplateView) string { return t.LaunchTemplateID },
		"InvalidLaunchTemplateId.NotFound", "specified launch template, with template ID")
	if err != nil {
		return nil, err
	}
	views, err = pickByID(views, in.LaunchTemplateNames, func(t launchTemplateView) string { return t.LaunchTemplateName },
		"InvalidLaunchTemplateName.NotFoundException", "specified launch template, with template name")
	if err != nil {
		return nil, err
	}
	views, err = filter(views, in.Filters, templateFields, func(t launchTemplateView) map[string]string { return m.tags.seen(t.LaunchTemplateID, m.now()) })
	if err != nil {
		return nil, err
	}
	views, next, err := page(views, func(t launchTemplateView) string { return t.LaunchTemplateID }, pages{1, 200, 200}, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	return &describeLaunchTemplatesOutput{wire.SetOf(views), next}, nil
}

type describeLaunchTemplateVersionsInput struct {
	LaunchTemplateID   string `query:"LaunchTemplateId"`
	LaunchTemplateName string
	Versions           []string `query:"LaunchTemplateVersion"`
	MinVersion         string
	MaxVersion         string
	ResolveAlias       bool
	NextToken          string
	MaxResults         *int
}

type describeLaunchTemplateVersionsOutput struct {
	Versions  wire.Set[templateVersionView] `xml:"launchTemplateVersionSet"`
	NextToken string                        `xml:"nextToken,omitempty"`
}

type templateVersionView struct {
	LaunchTemplateID   string             `xml:"launchTemplateId"`
	LaunchTemplateName string             `xml:"launchTemplateName"`
	VersionNumber      int64              `xml:"versionNumber"`
	VersionDescription string             `xml:"versionDescription,omitempty"`
	CreateTime         wire.Time          `xml:"createTime"`
	CreatedBy          string             `xml:"createdBy"`
	DefaultVersion     bool               `xml:"defaultVersion"`
	Data               LaunchTemplateData `xml:"launchTemplateData"`
}

func viewVersion(v *templateVersion) templateVersionView {
	return templateVersionView{
		LaunchTemplateID: v.template.id, LaunchTemplateName: v.template.name, VersionNumber: v.number,
		VersionDescription: v.description, CreateTime: wire.Time{Time: v.created}, CreatedBy: v.creator,
		DefaultVersion: v.number == v.template.initial, Data: v.data,
	}
}

func (m *Model) describeLaunchTemplateVersions(_ context.Context, in *describeLaunchTemplateVersionsInput) (*describeLaunchTemplateVersionsOutput, error) {
	m.lock()
	defer m.unlock()
	found, err := m.findVersions(in)
	if err != nil {
		return nil, err
	}
	views := []templateVersionView{}
	for _, v := range found {
		views = append(views, viewVersion(v))
	}
	key := func(v templateVersionView) string { return v.LaunchTemplateID + leftPad(v.VersionNumber) }
	slices.SortFunc(views, func(a, b templateVersionView) int { return strings.Compare(key(a), key(b)) })
	views, next, err := page(views, key, pages{1, 200, 200}, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	return &describeLaunchTemplateVersionsOutput{wire.SetOf(views), next}, nil
}

func (m *Model) findVersions(in *describeLaunchTemplateVersionsInput) ([]*templateVersion, error) {
	if in.LaunchTemplateID == "" && in.LaunchTemplateName == "" {
		// Of every template: only by alias, as EC2 has it.
		var found []*templateVersion
		for _, t := range m.templates {
			for _, s := range in.Versions {
				v, err := t.version(s)
				if err != nil || s != "$Latest" && s != "$Default" {
					return nil, wire.Errorf("InvalidParameterValue", "Only $Latest and $Default may be given for all launch templates")
				}
				found = append(found, v)
			}
		}
		return found, nil
	}
	t, err := m.template(in.LaunchTemplateID, in.LaunchTemplateName)
	if err != nil {
		return nil, err
	}
	if len(in.Versions) > 0 {
		var found []*templateVersion
		for _, s := range in.Versions {
			v, err := t.version(s)
			if err != nil {
				return nil, err
			}
			found = append(found, v)
		}
		return found, nil
	}
	least, most := int64(1), int64(len(t.versions))
	if in.MinVersion != "" {
		v, err := t.version(in.MinVersion)
		if err != nil {
			return nil, err
		}
		least = v.number
	}
	if in.MaxVersion != "" {
		v, err := t.version(in.MaxVersion)
		if err != nil {
			return nil, err
		}
		most = v.number
	}
	if least > most {
		return nil, nil
	}
	return t.versions[least-1 : most], nil
}
