package s3snapshot

import (
	"context"
	"fmt"

	"github.com/joiner-sh/joiner/shared/model"
)

// ShadowRecords are decisions that another version made once more.
type ShadowRecords struct{ *objects }

// PutShadow stores how another version makes a decision of a day, as Day names it. Putting it again replaces it.
func (s ShadowRecords) PutShadow(ctx context.Context, day string, shadowed model.Shadowed) error {
	return s.putRecord(ctx, shadowFolder(shadowed.Cluster, day, shadowed.By)+shadowed.Decision+extension, shadowed)
}

// Shadow reads what PutShadow stored. NotFound where nothing is.
func (s ShadowRecords) Shadow(ctx context.Context, cluster, day, by, decision string) (model.Shadowed, error) {
	return readRecord[model.Shadowed](ctx, s.objects, shadowFolder(cluster, day, by)+decision+extension)
}

// PutShadowIndex stores which decisions of a day a version has made once more, in place of what is there.
func (s ShadowRecords) PutShadowIndex(ctx context.Context, index model.ShadowIndex) error {
	return s.putRecord(ctx, shadowFolder(index.Cluster, index.Day, index.By)+shadowIndex, index)
}

// ShadowIndex reads what PutShadowIndex stored. NotFound where nothing is.
func (s ShadowRecords) ShadowIndex(ctx context.Context, cluster, day, by string) (model.ShadowIndex, error) {
	return readRecord[model.ShadowIndex](ctx, s.objects, shadowFolder(cluster, day, by)+shadowIndex)
}

// ShadowClusters names the clusters of which decisions were made once more, sorted.
func (s ShadowRecords) ShadowClusters(ctx context.Context) ([]string, error) {
	return s.folders(ctx, "shadow/")
}

// Shadows names the versions that made decisions of a day once more, sorted.
func (s ShadowRecords) Shadows(ctx context.Context, cluster, day string) ([]string, error) {
	return s.folders(ctx, fmt.Sprintf("shadow/%s/%s/", cluster, day))
}

// shadowIndex is the name of a day's index, which no decision has.
const shadowIndex = "index" + extension

func shadowFolder(cluster, day, by string) string {
	return fmt.Sprintf("shadow/%s/%s/%s/", cluster, day, by)
}
