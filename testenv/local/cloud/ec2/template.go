package ec2

import (
	"context"
	"regexp"
	"strconv"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type launchTemplate struct {
	id, name string
	created  time.Time
	creator  string // ARN
	initial  int64  // default version
	versions []*templateVersion
}

// templateVersion is one version of a template; its number is its place, from 1.
type templateVersion struct {
	template    *launchTemplate
	number      int64
	description string
	created     time.Time
	creator     string
	data        LaunchTemplateData
}

var templateName = regexp.MustCompile(`^[a-zA-Z0-9().\-/_]{3,128}$`)

type createLaunchTemplateInput struct {
	ClientToken        string
	LaunchTemplateName string
	VersionDescription string
	LaunchTemplateData *LaunchTemplateData
	TagSpecifications  []TagSpecification `query:"TagSpecification"`
}

type launchTemplateOutput struct {
	LaunchTemplate launchTemplateView `xml:"launchTemplate"`
}

type launchTemplateView struct {
	LaunchTemplateID     string    `xml:"launchTemplateId"`
	LaunchTemplateName   string    `xml:"launchTemplateName"`
	CreateTime           wire.Time `xml:"createTime"`
	CreatedBy            string    `xml:"createdBy"`
	DefaultVersionNumber int64     `xml:"defaultVersionNumber"`
	LatestVersionNumber  int64     `xml:"latestVersionNumber"`
	Tags                 []Tag     `xml:"tagSet>item"`
}

func (m *Model) view(t *launchTemplate) launchTemplateView {
	return launchTemplateView{
		LaunchTemplateID: t.id, LaunchTemplateName: t.name,
		CreateTime: wire.Time{Time: t.created}, CreatedBy: t.creator,
		DefaultVersionNumber: t.initial, LatestVersionNumber: int64(len(t.versions)),
		Tags: tagList(m.tags.seen(t.id, m.now())),
	}
}

func (m *Model) createLaunchTemplate(ctx context.Context, in *createLaunchTemplateInput) (*launchTemplateOutput, error) {
	m.lock()
	defer m.unlock()
	if before, ok, err := m.replay("CreateLaunchTemplate", in.ClientToken, in); ok || err != nil {
		out, _ := before.(*launchTemplateOutput)
		return out, err
	}
	if err := m.checkNewTemplate(in); err != nil {
		return nil, err
	}
	now, creator := m.now(), wire.Caller(ctx).ARN
	t := &launchTemplate{id: m.newID("lt"), name: in.LaunchTemplateName, created: now, creator: creator, initial: 1}
	t.versions = []*templateVersion{{template: t, number: 1, description: in.VersionDescription,
		created: now, creator: creator, data: *in.LaunchTemplateData}}
	m.templates[t.id] = t
	m.tags.set(t.id, tagsFor("launch-template", in.TagSpecifications...), now)
	out := &launchTemplateOutput{m.view(t)}
	m.remember("CreateLaunchTemplate", in.ClientToken, in, out)
	return out, nil
}

// tryLaunchTemplate finds what would refuse the request.
func (m *Model) tryLaunchTemplate(_ context.Context, in *createLaunchTemplateInput) error {
	m.lock()
	defer m.unlock()
	return m.checkNewTemplate(in)
}

func (m *Model) checkNewTemplate(in *createLaunchTemplateInput) error {
	switch {
	case in.LaunchTemplateName == "":
		return wire.Errorf("MissingParameter", "The request must contain the parameter LaunchTemplateName")
	case !templateName.MatchString(in.LaunchTemplateName):
		return wire.Errorf("InvalidLaunchTemplateName.MalformedException", "Launch template name must be between 3 and 128 characters, and may contain letters, numbers, and the following characters: - ( ) . / _.")
	case in.LaunchTemplateData == nil:
		return wire.Errorf("MissingParameter", "The request must contain the parameter LaunchTemplateData")
	}
	for _, t := range m.templates {
		if t.name == in.LaunchTemplateName {
			return wire.Errorf("InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use.")
		}
	}
	if err := checkTagSpecifications(in.TagSpecifications, "launch-template"); err != nil {
		return err
	}
	return in.LaunchTemplateData.check()
}

type createLaunchTemplateVersionInput struct {
	ClientToken        string
	LaunchTemplateID   string `query:"LaunchTemplateId"`
	LaunchTemplateName string
	SourceVersion      string
	VersionDescription string
	LaunchTemplateData *LaunchTemplateData
}

type launchTemplateVersionOutput struct {
	Version templateVersionView `xml:"launchTemplateVersion"`
}

func (m *Model) createLaunchTemplateVersion(ctx context.Context, in *createLaunchTemplateVersionInput) (*launchTemplateVersionOutput, error) {
	m.lock()
	defer m.unlock()
	t, err := m.template(in.LaunchTemplateID, in.LaunchTemplateName)
	if err != nil {
		return nil, err
	}
	if in.SourceVersion != "" {
		return nil, wire.Errorf("UnsupportedOperation", "Building a version on another (SourceVersion) is not modelled")
	}
	if in.LaunchTemplateData == nil {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter LaunchTemplateData")
	}
	if err := in.LaunchTemplateData.check(); err != nil {
		return nil, err
	}
	v := &templateVersion{template: t, number: int64(len(t.versions)) + 1, description: in.VersionDescription,
		created: m.now(), creator: wire.Caller(ctx).ARN, data: *in.LaunchTemplateData}
	t.versions = append(t.versions, v)
	return &launchTemplateVersionOutput{viewVersion(v)}, nil
}

type deleteLaunchTemplateInput struct {
	LaunchTemplateID   string `query:"LaunchTemplateId"`
	LaunchTemplateName string
}

func (m *Model) deleteLaunchTemplate(_ context.Context, in *deleteLaunchTemplateInput) (*launchTemplateOutput, error) {
	m.lock()
	defer m.unlock()
	t, err := m.template(in.LaunchTemplateID, in.LaunchTemplateName)
	if err != nil {
		return nil, err
	}
	out := &launchTemplateOutput{m.view(t)}
	delete(m.templates, t.id)
	delete(m.tags, t.id)
	return out, nil
}

// template finds a template by id or name, exactly one of which must be given.
func (m *Model) template(id, name string) (*launchTemplate, error) {
	switch {
	case id == "" && name == "":
		return nil, wire.Errorf("MissingParameter", "You must specify either the launch template ID or launch template name in the request.")
	case id != "" && name != "":
		return nil, wire.Errorf("InvalidParameterCombination", "Only one of launchTemplateId and launchTemplateName may be given.")
	case id != "":
		if t, ok := m.templates[id]; ok {
			return t, nil
		}
		return nil, noTemplateOfID(id)
	}
	for _, t := range m.templates {
		if t.name == name {
			return t, nil
		}
	}
	return nil, noTemplateOfName(name)
}

// launchable finds a template as launches do, which may not know of one that was just made.
func (m *Model) launchable(ref *templateRef) (*launchTemplate, error) {
	t, err := m.template(ref.LaunchTemplateID, ref.LaunchTemplateName)
	if err != nil || !m.reads.Takes(reading.TemplateLag) || !m.now().Before(t.created.Add(reading.TemplateDelay)) {
		return t, err
	}
	if ref.LaunchTemplateID != "" {
		return nil, noTemplateOfID(ref.LaunchTemplateID)
	}
	return nil, noTemplateOfName(ref.LaunchTemplateName)
}

func noTemplateOfID(id string) error {
	return wire.Errorf("InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist.", id)
}

func noTemplateOfName(name string) error {
	return wire.Errorf("InvalidLaunchTemplateName.NotFoundException", "The specified launch template, with template name %s, does not exist.", name)
}

// version finds a version by number, "$Latest" or "$Default".
func (t *launchTemplate) version(s string) (*templateVersion, error) {
	n := t.initial
	switch s {
	case "$Default", "":
	case "$Latest":
		n = int64(len(t.versions))
	default:
		var err error
		if n, err = strconv.ParseInt(s, 10, 64); err != nil {
			return nil, wire.Errorf("InvalidLaunchTemplateId.VersionMalformed", "Invalid launch template version: either '$Default', '$Latest', or a numeric version are allowed.")
		}
	}
	if n < 1 || n > int64(len(t.versions)) {
		return nil, wire.Errorf("InvalidLaunchTemplateId.VersionNotFound", "Could not find launch template version %s of %s.", s, t.id)
	}
	return t.versions[n-1], nil
}
