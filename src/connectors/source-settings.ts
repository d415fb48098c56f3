import { type SectionClass } from '../config/section.js';
import { Setting } from '../config/setting.js';
import { ToBoolean } from '../config/transforms.js';
import { ResilienceSettings } from './resilience-settings.js';

/** What every source can be told. A source's own settings class extends this one and names its `static readonly section`. */
export abstract class SourceSettings extends ResilienceSettings {
  @Setting({
    doc: 'Whether this source is used at all; if not, neither its connector nor its tools exist.',
    leads: true,
  })
  @ToBoolean()
  enabled = false;
}

/** The constructor of a source's settings: also its injection token and the owner of its block of variables. */
export type SourceSettingsClass<S extends SourceSettings = SourceSettings> = SectionClass<S>;
