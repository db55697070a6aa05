package ecr

import (
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// NewHandler serves m on the wire protocol of ECR.
func NewHandler(m *Model) http.Handler {
	return wire.JSON{Version: "1.1", TargetPrefix: "AmazonEC2ContainerRegistry_V20150921", Actions: map[string]wire.JSONAction{
		"CreateRepository":      wire.JSONFunc(m.createRepository),
		"DeleteRepository":      wire.JSONFunc(m.deleteRepository),
		"DescribeImages":        wire.JSONFunc(m.describeImages),
		"DescribeRepositories":  wire.JSONFunc(m.describeRepositories),
		"GetAuthorizationToken": wire.JSONFunc(m.getAuthorizationToken),
	}}
}

type repositoryView struct {
	CreatedAt      wire.Epoch `json:"createdAt"`
	Mutability     string     `json:"imageTagMutability"`
	RegistryID     string     `json:"registryId"`
	ARN            string     `json:"repositoryArn"`
	RepositoryName string     `json:"repositoryName"`
	URI            string     `json:"repositoryUri"`
}

// view returns what the wire shows of a repository. The lock is held.
func (m *Model) view(r *repository, host string) repositoryView {
	return repositoryView{
		CreatedAt: wire.Epoch{Time: r.created}, Mutability: "MUTABLE", RegistryID: m.account, RepositoryName: r.name, URI: host + "/" + r.name,
		ARN: "arn:aws:ecr:" + m.region + ":" + m.account + ":repository/" + r.name,
	}
}

type createInput struct {
	RepositoryName             string         `json:"repositoryName"`
	ImageTagMutability         string         `json:"imageTagMutability"`
	ImageScanningConfiguration map[string]any `json:"imageScanningConfiguration"`
	EncryptionConfiguration    map[string]any `json:"encryptionConfiguration"`
	Tags                       []any          `json:"tags"`
}

type repositoryOutput struct {
	Repository repositoryView `json:"repository"`
}

func (m *Model) createRepository(_ context.Context, in *createInput) (*repositoryOutput, error) {
	host := m.Host()
	if err := m.Create(in.RepositoryName); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return &repositoryOutput{m.view(m.repositories[in.RepositoryName], host)}, nil
}

type deleteInput struct {
	RegistryID     string `json:"registryId"`
	RepositoryName string `json:"repositoryName"`
	Force          bool   `json:"force"`
}

func (m *Model) deleteRepository(_ context.Context, in *deleteInput) (*repositoryOutput, error) {
	host := m.Host()
	m.mu.Lock()
	r, err := m.repository(in.RepositoryName)
	m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := m.Delete(in.RepositoryName, in.Force); err != nil {
		return nil, err
	}
	return &repositoryOutput{m.view(r, host)}, nil
}

type describeInput struct {
	RegistryID      string   `json:"registryId"`
	RepositoryNames []string `json:"repositoryNames"`
	MaxResults      *int     `json:"maxResults"`
	NextToken       string   `json:"nextToken"`
}

type repositoriesOutput struct {
	Repositories []repositoryView `json:"repositories"`
}

// describeRepositories answers in one page: there are few.
func (m *Model) describeRepositories(_ context.Context, in *describeInput) (*repositoriesOutput, error) {
	host := m.Host()
	m.mu.Lock()
	defer m.mu.Unlock()
	names := in.RepositoryNames
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(m.repositories))
	}
	out := &repositoriesOutput{Repositories: []repositoryView{}}
	for _, name := range names {
		r, err := m.repository(name)
		if err != nil {
			return nil, err
		}
		out.Repositories = append(out.Repositories, m.view(r, host))
	}
	return out, nil
}

type imageID struct {
	ImageDigest string `json:"imageDigest"`
	ImageTag    string `json:"imageTag"`
}

type imagesInput struct {
	RegistryID     string    `json:"registryId"`
	RepositoryName string    `json:"repositoryName"`
	ImageIDs       []imageID `json:"imageIds"`
	MaxResults     *int      `json:"maxResults"`
	NextToken      string    `json:"nextToken"`
}

type imageView struct {
	ImageDigest    string     `json:"imageDigest"`
	MediaType      string     `json:"imageManifestMediaType"`
	PushedAt       wire.Epoch `json:"imagePushedAt"`
	SizeInBytes    int64      `json:"imageSizeInBytes"`
	ImageTags      []string   `json:"imageTags,omitempty"`
	RegistryID     string     `json:"registryId"`
	RepositoryName string     `json:"repositoryName"`
}

type imagesOutput struct {
	ImageDetails []imageView `json:"imageDetails"`
}

// describeImages answers in one page.
func (m *Model) describeImages(_ context.Context, in *imagesInput) (*imagesOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.repository(in.RepositoryName)
	if err != nil {
		return nil, err
	}
	wanted := func(i *image) bool {
		return len(in.ImageIDs) == 0 || slices.ContainsFunc(in.ImageIDs, func(id imageID) bool {
			return (id.ImageDigest == "" || id.ImageDigest == i.digest) && (id.ImageTag == "" || slices.Contains(i.tags, id.ImageTag))
		})
	}
	out := &imagesOutput{ImageDetails: []imageView{}}
	for _, digest := range slices.Sorted(maps.Keys(r.images)) {
		if i := r.images[digest]; wanted(i) {
			out.ImageDetails = append(out.ImageDetails, imageView{i.digest, i.mediaType, wire.Epoch{Time: i.pushed}, i.size, i.tags, m.account, r.name})
		}
	}
	if len(in.ImageIDs) > 0 && len(out.ImageDetails) == 0 {
		return nil, wire.Errorf("ImageNotFoundException", "The image with imageId %v does not exist within the repository with name '%s' in the registry with id '%s'", in.ImageIDs, r.name, m.account)
	}
	return out, nil
}

type tokenInput struct {
	RegistryIDs []string `json:"registryIds"`
}

type tokenView struct {
	AuthorizationToken string     `json:"authorizationToken"`
	ExpiresAt          wire.Epoch `json:"expiresAt"`
	ProxyEndpoint      string     `json:"proxyEndpoint"`
}

type tokenOutput struct {
	AuthorizationData []tokenView `json:"authorizationData"`
}

func (m *Model) getAuthorizationToken(context.Context, *tokenInput) (*tokenOutput, error) {
	token, expires := m.issue()
	encoded := base64.StdEncoding.EncodeToString([]byte(user + ":" + token))
	return &tokenOutput{AuthorizationData: []tokenView{{encoded, wire.Epoch{Time: expires}, "https://" + m.Host()}}}, nil
}
