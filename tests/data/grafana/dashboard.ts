// What a dashboard is, by Grafana's own types (@grafana/schema 13.2.3, Apache-2.0), with the options of the
// kinds of panels that are used here. The schema beside this file is made of it:
//
//     npm install @grafana/schema@13.2.3 ts-json-schema-generator
//     npx ts-json-schema-generator --path dashboard.ts --type Checked --no-type-check --jsDoc none --minify \
//         --out dashboard.schema.json
import { Dashboard, FieldConfig, FieldConfigSource, Panel, RowPanel } from "./node_modules/@grafana/schema/dist/types/raw/dashboard/x/types.gen";
import * as stat from "./node_modules/@grafana/schema/dist/types/raw/composable/stat/panelcfg/x/types.gen";
import * as statetimeline from "./node_modules/@grafana/schema/dist/types/raw/composable/statetimeline/panelcfg/x/types.gen";
import * as timeseries from "./node_modules/@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/types.gen";

type Of<T extends string, Options, Custom> = Omit<Panel, "type" | "options" | "fieldConfig"> & {
    type: T;
    options: Partial<Options>;
    fieldConfig: {
        defaults: FieldConfig & { custom?: Partial<Custom> };
        overrides: FieldConfigSource["overrides"];
    };
};
type Known =
    | RowPanel
    | Of<"stat", stat.Options, {}>
    | Of<"state-timeline", statetimeline.Options, statetimeline.FieldConfig>
    | Of<"timeseries", timeseries.Options, timeseries.FieldConfig>;

export type Checked = Omit<Dashboard, "panels"> & { panels: Known[] };
